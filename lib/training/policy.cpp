#include "training/policy.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/random.hpp"
#include "jsonl/json.hpp"
#include "model/lora.hpp"
#include "model/safetensors.hpp"

namespace leap::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeightsFile = "model.safetensors";
constexpr const char* kAdapterFile = "adapter_model.safetensors";
constexpr const char* kAdapterConfig = "adapter_config.json";

/// What makes a model's directory loadable besides the weights.
constexpr std::array<std::string_view, 12> kCopied = {
    "config.json",     "generation_config.json",  "tokenizer.json",     "tokenizer_config.json",
    "tokenizer.model", "special_tokens_map.json", "added_tokens.json",  "vocab.json",
    "merges.txt",      "chat_template.jinja",     "chat_template.json", "LICENSE"};

std::string in(const fs::path& dir, std::string_view name) {
  return (dir / name).string();
}

at::ScalarType scalar_type(const std::string& dtype) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "F16") return at::kHalf;
  if (dtype == "BF16") return at::kBFloat16;
  throw Error("weights of type " + dtype + " cannot be written");
}

at::Tensor matrix(std::vector<float>& values, std::int64_t rows, std::int64_t columns, at::Device device) {
  return at::from_blob(values.data(), {rows, columns}, at::kFloat).clone().to(device);
}

/// "model.layers.0.self_attn.q_proj.weight" -> "q_proj"
std::string layer_kind(std::string_view weight) {
  const auto end = weight.rfind('.');
  const auto begin = weight.rfind('.', end - 1);
  return std::string(weight.substr(begin + 1, end - begin - 1));
}

std::string adapter_config(const LoraOptions& lora, const std::set<std::string>& kinds) {
  const Json config = {{"peft_type", "LORA"},
                       {"task_type", "CAUSAL_LM"},
                       {"base_model_name_or_path", nullptr},
                       {"r", lora.rank},
                       {"lora_alpha", lora.alpha},
                       {"target_modules", std::vector<std::string>(kinds.begin(), kinds.end())},
                       {"lora_dropout", 0.0},
                       {"bias", "none"},
                       {"use_rslora", false},
                       {"fan_in_fan_out", false},
                       {"modules_to_save", nullptr},
                       {"inference_mode", true}};
  return jsonl::dump(config) + "\n";
}

}  // namespace

bool is_adapter(const std::string& dir) {
  return fs::exists(in(dir, kAdapterConfig));
}

bool is_policy_file(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") ||
         name == kAdapterConfig || std::find(kCopied.begin(), kCopied.end(), name) != kCopied.end();
}

std::unique_ptr<Policy> Policy::whole(const std::string& dir, at::Device device) {
  std::unique_ptr<Policy> policy(new Policy);
  policy->decoder_ = std::make_unique<model::Decoder>(dir, at::kFloat, device);
  policy->trained_ = policy->decoder_->parameters();
  policy->stored_ = policy->decoder_->stored();
  policy->train_all();
  return policy;
}

std::unique_ptr<Policy> Policy::adapter(const std::string& base_dir, const std::string& adapter_dir,
                                        at::Device device) {
  std::unique_ptr<Policy> policy(new Policy);
  policy->decoder_ = std::make_unique<model::Decoder>(base_dir, at::kFloat, device);
  policy->is_adapter_ = true;
  policy->config_ = read_file(in(adapter_dir, kAdapterConfig));
  for (auto& [weight, pair] : model::read_lora(adapter_dir)) {
    policy->add_pair(weight, matrix(pair.a, pair.rank, pair.in, device),
                     matrix(pair.b, pair.out, pair.rank, device), pair.scale, pair.a_type, pair.b_type);
  }
  policy->train_all();
  return policy;
}

std::unique_ptr<Policy> Policy::new_adapter(const std::string& base_dir, const LoraOptions& lora,
                                            std::int64_t seed, at::Device device) {
  std::unique_ptr<Policy> policy(new Policy);
  policy->decoder_ = std::make_unique<model::Decoder>(base_dir, at::kFloat, device);
  policy->is_adapter_ = true;
  const bool all = lora.targets == std::vector<std::string>{"all-linear"};
  std::set<std::string> kinds;
  // In the order in which read_lora() gives them, so that a resumed run writes the same file.
  const auto& parameters = policy->decoder_->parameters();
  const std::map<std::string, at::Tensor> by_name(parameters.begin(), parameters.end());
  for (const auto& [name, weight] : by_name) {
    if (!name.ends_with("_proj.weight")) continue;
    const std::string kind = layer_kind(name);
    if (!all && std::find(lora.targets.begin(), lora.targets.end(), kind) == lora.targets.end()) continue;
    kinds.insert(kind);
    const std::int64_t out = weight.size(0), in = weight.size(1);
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    const std::uint64_t key = draw_key(static_cast<std::uint64_t>(seed), name, 0, 0);
    std::vector<float> a(static_cast<std::size_t>(lora.rank * in));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>((2 * uniform(key, i) - 1) * bound);
    policy->add_pair(name, matrix(a, lora.rank, in, device),
                     at::zeros({out, lora.rank}, at::TensorOptions().dtype(at::kFloat).device(device)),
                     lora.alpha / static_cast<double>(lora.rank), "F32", "F32");
  }
  for (const std::string& target : lora.targets) {
    if (!all && kinds.count(target) == 0)
      throw UsageError("--lora-targets " + target + ": the model has no such linear layer");
  }
  policy->config_ = adapter_config(lora, kinds);
  policy->train_all();
  return policy;
}

void Policy::add_pair(const std::string& weight, at::Tensor a, at::Tensor b, double scale,
                      const std::string& a_type, const std::string& b_type) {
  const std::string module = model::kLoraPrefix + weight.substr(0, weight.rfind(".weight"));
  stored_.push_back({module + ".lora_A.weight", a_type, a.sizes().vec()});
  stored_.push_back({module + ".lora_B.weight", b_type, b.sizes().vec()});
  trained_.emplace_back(stored_[stored_.size() - 2].name, a);
  trained_.emplace_back(stored_.back().name, b);
  decoder_->set_lora(weight, {std::move(a), std::move(b), scale});
}

void Policy::train_all() {
  for (auto& [name, parameter] : trained_) parameter.set_requires_grad(true);
}

std::shared_ptr<const model::Decoder> Policy::base() const {
  return is_adapter_ ? std::make_shared<const model::Decoder>(*decoder_, model::WithoutLora()) : nullptr;
}

std::uint64_t Policy::digest() const {
  constexpr std::int64_t kSampled = 4096;  // of each tensor
  std::uint64_t hash = hash64("");
  for (const auto& [name, parameter] : trained_) {
    const at::Tensor row = parameter.detach().flatten();
    const std::int64_t stride = std::max<std::int64_t>(1, row.numel() / kSampled);
    const at::Tensor some = row.slice(0, 0, row.numel(), stride).to(at::kCPU).contiguous();
    hash = hash64({static_cast<const char*>(some.const_data_ptr()), some.nbytes()}, hash);
  }
  return hash;
}

void Policy::write(const std::string& dir, const std::string& source) const {
  if (is_adapter_) {
    const std::string path = in(dir, kAdapterConfig);
    std::ofstream file(path, std::ios::binary);
    file << config_ << std::flush;
    if (!file) throw_errno("cannot write " + path);
  } else {
    for (const std::string_view name : kCopied) {
      const fs::path from = fs::path(source) / name;
      if (!fs::is_regular_file(from)) continue;
      std::error_code error;
      fs::copy_file(from, fs::path(dir) / name, error);
      if (error) throw Error("cannot copy " + from.string() + ": " + error.message());
    }
  }
  model::SafetensorsWriter writer(in(dir, is_adapter_ ? kAdapterFile : kWeightsFile), stored_);
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const at::Tensor bytes =
        trained_[i].second.detach().to(at::kCPU, scalar_type(stored_[i].dtype)).contiguous();
    writer.write(trained_[i].first, bytes.const_data_ptr(), bytes.nbytes());
  }
  writer.close();
}

}  // namespace leap::training
