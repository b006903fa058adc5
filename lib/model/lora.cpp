#include "model/lora.hpp"

#include <cmath>

#include "base/error.hpp"
#include "model/config.hpp"

namespace leap::model {
namespace {

constexpr std::string_view kPrefix = kLoraPrefix;

double scale_of(const Json& config, const std::string& path, std::int64_t rank) {
  auto member = [&](const char* name) { return config.contains(name) ? config[name] : Json(); };
  if (member("peft_type") != "LORA") throw Error(path + ": peft_type: only LORA is supported");
  for (const char* name : {"use_dora", "fan_in_fan_out", "lora_bias"}) {
    if (member(name) == true) throw Error(path + ": " + name + ": true is not supported");
  }
  for (const char* name : {"rank_pattern", "alpha_pattern", "modules_to_save"}) {
    if (!member(name).empty()) throw Error(path + ": " + name + ": is not supported");
  }
  const Json bias = member("bias");
  if (!bias.is_null() && bias != "none") throw Error(path + ": bias: only none is supported");
  const Json alpha = member("lora_alpha");
  if (!alpha.is_number()) throw Error(path + ": lora_alpha: must be a number");
  const auto r = static_cast<double>(rank);
  return alpha.get<double>() / (member("use_rslora") == true ? std::sqrt(r) : r);
}

std::vector<float> values(const TensorView& view) {
  std::vector<float> out(static_cast<std::size_t>(view.elements()));
  widen(view, 0, view.elements(), out.data());
  return out;
}

}  // namespace

std::map<std::string, LoraWeights> read_lora(const std::string& adapter_dir) {
  const std::string path = adapter_dir + "/adapter_config.json";
  const Json config = read_json_file(path);
  const SafetensorsReader reader(adapter_dir + "/adapter_model.safetensors");
  std::map<std::string, LoraWeights> out;
  for (const TensorView& a : reader.tensors()) {
    const auto end = a.name.rfind(".lora_A.weight");
    if (end == std::string::npos || a.name.rfind(kPrefix, 0) != 0) {
      if (a.name.ends_with(".lora_B.weight")) continue;
      throw Error(adapter_dir + ": tensor '" + a.name + "' is not supported");
    }
    const TensorView& b = reader.at(a.name.substr(0, end) + ".lora_B.weight");
    if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[0] != b.shape[1]) {
      throw Error(adapter_dir + ": tensor '" + a.name + "': its shape does not suit its lora_B");
    }
    LoraWeights pair{a.shape[0], a.shape[1], b.shape[0],
                     values(a),  values(b),  scale_of(config, path, a.shape[0]),
                     a.dtype,    b.dtype};
    out[a.name.substr(kPrefix.size(), end - kPrefix.size()) + ".weight"] = std::move(pair);
  }
  return out;
}

}  // namespace leap::model
