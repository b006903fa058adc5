#include "training/checkpoint.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "jsonl/json.hpp"
#include "model/safetensors.hpp"
#include "training/retention.hpp"
#include "training/staged_directory.hpp"

namespace leap::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "leap_state.json";
constexpr const char* kOptimiserFile = "leap_optimizer.safetensors";

bool is_ours(const std::string& name) {
  return is_policy_file(name) || name == kStateFile;
}

std::string in(const fs::path& dir, const std::string& name) {
  return (dir / name).string();
}

void write_floats(model::SafetensorsWriter& writer, const std::string& name, const at::Tensor& tensor) {
  const at::Tensor bytes = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  writer.write(name, bytes.const_data_ptr(), bytes.nbytes());
}

void write_optimiser(const fs::path& dir, const Policy& policy, const AdamW& optimiser, const State& state) {
  std::vector<model::TensorInfo> infos;
  const auto announce = [&infos](const std::string& name, std::vector<std::int64_t> shape) {
    infos.push_back({name, "F32", std::move(shape)});
  };
  std::vector<bool> has_master;
  for (const AdamW::Slot& slot : optimiser.slots()) {
    const auto& stored = policy.stored();
    const auto info = std::find_if(stored.begin(), stored.end(),
                                   [&slot](const model::TensorInfo& t) { return t.name == slot.name; });
    has_master.push_back(info != stored.end() && info->dtype != "F32");
    const std::vector<std::int64_t> shape = slot.parameter.sizes().vec();
    announce("first." + slot.name, shape);
    announce("second." + slot.name, shape);
    if (has_master.back()) announce("master." + slot.name, shape);
  }
  for (std::size_t i = 0; i < state.old.size(); ++i) {
    if (state.old[i].empty()) continue;
    announce("old." + std::to_string(i), {static_cast<std::int64_t>(state.old[i].size())});
  }
  model::SafetensorsWriter writer(in(dir, kOptimiserFile), infos);
  for (std::size_t i = 0; i < has_master.size(); ++i) {
    const AdamW::Slot& slot = optimiser.slots()[i];
    write_floats(writer, "first." + slot.name, optimiser.whole(i, &AdamW::Slot::first));
    write_floats(writer, "second." + slot.name, optimiser.whole(i, &AdamW::Slot::second));
    if (has_master[i]) write_floats(writer, "master." + slot.name, slot.parameter);
  }
  for (std::size_t i = 0; i < state.old.size(); ++i) {
    if (state.old[i].empty()) continue;
    writer.write("old." + std::to_string(i), state.old[i].data(), state.old[i].size() * sizeof(float));
  }
  writer.close();
}

/// What the other ranks add to write_optimiser() of the first.
void help_write_optimiser(const AdamW& optimiser) {
  for (std::size_t i = 0; i < optimiser.slots().size(); ++i) {
    (void)optimiser.whole(i, &AdamW::Slot::first);
    (void)optimiser.whole(i, &AdamW::Slot::second);
  }
}

void write_state(const fs::path& dir, const State& state) {
  const Json json = {
      {"step", state.step},
      {"updates", state.updates},
      {"cursor", {{"batches", state.batches}, {"iteration", state.iteration}, {"steps", state.run_steps}}},
      {"records_per_step", state.records_per_step},
      {"num_iterations", state.num_iterations}};
  const std::string path = in(dir, kStateFile);
  std::ofstream file(path, std::ios::binary);
  file << jsonl::dump(json) << '\n' << std::flush;
  if (!file) throw_errno("cannot write " + path);
}

std::int64_t count(const Json& json, const std::string& path, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_number_integer() || it->get<std::int64_t>() < 0) {
    throw Error(path + ": '" + key + "' is missing or no count; the file is not one that rl-update wrote");
  }
  return it->get<std::int64_t>();
}

StagedDirectory::Retire retire(std::int64_t keep) {
  return keep > 1 ? StagedDirectory::Retire(retired_path) : StagedDirectory::Retire();
}

}  // namespace

bool is_checkpoint(const std::string& dir) {
  return fs::exists(in(dir, kStateFile)) && fs::exists(in(dir, kOptimiserFile));
}

std::int64_t read_step(const std::string& dir) {
  const std::string path = in(dir, kStateFile);
  return count(model::read_json_file(path), path, "step");
}

State read_state(const std::string& dir) {
  if (!is_checkpoint(dir))
    throw Error(dir + ": no checkpoint of rl-update (" + kStateFile + ", " + kOptimiserFile + ")");
  const std::string path = in(dir, kStateFile);
  const Json json = model::read_json_file(path);
  const auto cursor = json.find("cursor");
  if (cursor == json.end() || !cursor->is_object()) throw Error(path + ": 'cursor' is missing");
  State state;
  state.step = count(json, path, "step");
  state.updates = count(json, path, "updates");
  state.batches = count(*cursor, path, "batches");
  state.iteration = count(*cursor, path, "iteration");
  state.run_steps = count(*cursor, path, "steps");
  state.records_per_step = count(json, path, "records_per_step");
  state.num_iterations = count(json, path, "num_iterations");
  const model::SafetensorsReader reader(in(dir, kOptimiserFile));
  for (const model::TensorView& view : reader.tensors()) {
    if (!view.name.starts_with("old.")) continue;
    const std::size_t action = std::stoul(view.name.substr(4));
    if (state.old.size() <= action) state.old.resize(action + 1);
    state.old[action].resize(static_cast<std::size_t>(view.elements()));
    model::widen(view, 0, view.elements(), state.old[action].data());
  }
  return state;
}

void read_optimiser(const std::string& dir, AdamW& optimiser) {
  const at::NoGradGuard no_grad;
  const std::string path = in(dir, kOptimiserFile);
  const model::SafetensorsReader reader(path);
  const auto fill = [&](const model::TensorView& view, const AdamW::Slot& slot, Shards::Range range,
                        at::Tensor target) {
    if (view.shape != slot.parameter.sizes().vec())
      throw Error(path + ": '" + view.name + "' has another shape than the model");
    at::Tensor values = at::empty(target.sizes(), at::TensorOptions().dtype(at::kFloat));
    model::widen(view, range.begin, range.size(), values.data_ptr<float>());
    target.copy_(values);
  };
  for (AdamW::Slot& slot : optimiser.slots()) {
    fill(reader.at("first." + slot.name), slot, slot.range, slot.first);
    fill(reader.at("second." + slot.name), slot, slot.range, slot.second);
    const model::TensorView* master = reader.find("master." + slot.name);
    if (master != nullptr) fill(*master, slot, {0, slot.parameter.numel()}, slot.parameter);
  }
}

void write_checkpoint(const std::string& out, const std::string& source, const Policy& policy,
                      const AdamW& optimiser, const State& state, const Ranks& ranks, std::int64_t keep) {
  if (ranks.first()) {
    StagedDirectory staged(out, is_ours, retire(keep));
    policy.write(staged.path().string(), source);
    write_optimiser(staged.path(), policy, optimiser, state);
    write_state(staged.path(), state);
    staged.commit();
    if (keep > 1) retain(out, keep);
  } else {
    help_write_optimiser(optimiser);
  }
  (void)ranks.of_first(0);
}

void write_weights(const std::string& out, const std::string& source, const Policy& policy,
                   const State& state) {
  StagedDirectory staged(out, is_ours);
  policy.write(staged.path().string(), source);
  write_state(staged.path(), state);
  staged.commit();
}

void check_writable(const std::string& out, std::int64_t keep) {
  { const StagedDirectory probe(out, is_ours, retire(keep)); }
  if (keep > 1 && is_checkpoint(out)) retain(out, keep);
}

}  // namespace leap::training
