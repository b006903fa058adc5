#include "model/config.hpp"

#include <cmath>
#include <filesystem>
#include <numbers>

#include "base/error.hpp"
#include "base/file.hpp"

namespace leap::model {
namespace {

const Json kNull;

const Json& member(const Json& object, const char* name) {
  auto it = object.find(name);
  return it == object.end() ? kNull : *it;
}

/// Typed look-ups in one config; every complaint names file and field.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  [[noreturn]] void refuse(const std::string& field, const std::string& why) const {
    throw Error(where_ + ": " + field + ": " + why);
  }
  const Json& operator[](const char* name) const { return member(object_, name); }

  std::int64_t size(const char* name, std::int64_t fallback = 0) const {
    const Json& value = (*this)[name];
    if (value.is_null() && fallback > 0) return fallback;
    if (value.is_null()) refuse(name, "missing");
    if (!value.is_number_integer() || value.get<std::int64_t>() <= 0)
      refuse(name, "must be a positive integer");
    return value.get<std::int64_t>();
  }
  double number(const char* name, double fallback) const {
    const Json& value = (*this)[name];
    if (value.is_null()) return fallback;
    if (!value.is_number()) refuse(name, "must be a number");
    return value.get<double>();
  }
  double positive(const char* name, double fallback) const {
    double value = number(name, fallback);
    if (!(value > 0)) refuse(name, "must be positive");
    return value;
  }
  bool flag(const char* name, bool fallback) const {
    const Json& value = (*this)[name];
    if (value.is_null()) return fallback;
    if (!value.is_boolean()) refuse(name, "must be true or false");
    return value.get<bool>();
  }

 private:
  const Json& object_;
  std::string where_;
};

Rope parse_rope(const Fields& config, const std::string& where) {
  Rope rope;
  rope.theta = config.positive("rope_theta", 10000.0);
  const bool new_style = !config["rope_parameters"].is_null();
  const char* name = new_style ? "rope_parameters" : "rope_scaling";
  const Json& object = config[name];
  if (object.is_null()) return rope;
  if (!object.is_object()) config.refuse(name, "must be an object");
  Fields fields(object, where + ": " + name);
  rope.theta = fields.positive("rope_theta", rope.theta);
  const char* type_name = fields["rope_type"].is_null() ? "type" : "rope_type";
  const Json& type = fields[type_name];
  const std::string kind = type.is_null()     ? "default"
                           : type.is_string() ? type.get<std::string>()
                                              : type.dump();
  if (kind == "default") return rope;
  rope.factor = fields.positive("factor", 1.0);
  if (kind == "linear") {
    rope.type = RopeType::kLinear;
  } else if (kind == "llama3") {
    rope.type = RopeType::kLlama3;
    rope.low_freq_factor = fields.positive("low_freq_factor", 1.0);
    rope.high_freq_factor = fields.positive("high_freq_factor", 4.0);
    rope.original_max_position = fields.positive("original_max_position_embeddings", 8192.0);
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      fields.refuse("high_freq_factor", "must be larger than low_freq_factor");
    }
  } else {
    fields.refuse(type_name, "'" + kind + "' is not supported (default, linear and llama3 are)");
  }
  return rope;
}

/// An id or a list of ids; empty when the field is absent or null.
std::vector<std::int64_t> parse_eos(const Json& object, const std::string& where) {
  const Json& value = member(object, "eos_token_id");
  if (value.is_null()) return {};
  std::vector<std::int64_t> ids;
  for (const Json& id : value.is_array() ? value : Json::array({value})) {
    if (!id.is_number_integer())
      throw Error(where + ": eos_token_id: must be an integer or a list of integers");
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

}  // namespace

ModelConfig parse_config(const Json& json, const Json& generation, const std::string& where) {
  Fields fields(json, where);
  ModelConfig config;
  const Json& type = fields["model_type"];
  if (!type.is_string()) fields.refuse("model_type", "missing");
  config.model_type = type.get<std::string>();
  const bool llama = config.model_type == "llama", qwen2 = config.model_type == "qwen2",
             qwen3 = config.model_type == "qwen3";
  if (!llama && !qwen2 && !qwen3) {
    fields.refuse("model_type", "'" + config.model_type + "' is not supported (llama, qwen2 and qwen3 are)");
  }
  const std::string wanted = llama ? "LlamaForCausalLM" : qwen2 ? "Qwen2ForCausalLM" : "Qwen3ForCausalLM";
  const Json& architectures = fields["architectures"];
  if (architectures.is_array() && !architectures.empty() && architectures[0] != wanted) {
    fields.refuse("architectures", architectures[0].dump() + " is not supported");
  }

  config.vocab_size = fields.size("vocab_size");
  config.hidden_size = fields.size("hidden_size");
  config.intermediate_size = fields.size("intermediate_size");
  config.layers = fields.size("num_hidden_layers");
  config.heads = fields.size("num_attention_heads");
  config.kv_heads = fields.size("num_key_value_heads", config.heads);
  if (config.heads % config.kv_heads != 0) {
    fields.refuse("num_key_value_heads", "does not divide num_attention_heads");
  }
  if (fields["head_dim"].is_null() && config.hidden_size % config.heads != 0) {
    fields.refuse("num_attention_heads", "does not divide hidden_size, and there is no head_dim");
  }
  config.head_dim = fields.size("head_dim", qwen3 ? 128 : config.hidden_size / config.heads);
  if (config.head_dim % 2 != 0) fields.refuse("head_dim", "must be even");
  config.norm_eps = fields.positive("rms_norm_eps", 1e-6);
  if (!fields["max_position_embeddings"].is_null())
    config.max_positions = fields.size("max_position_embeddings");
  config.rope = parse_rope(fields, where);
  config.qkv_bias = qwen2 || fields.flag("attention_bias", false);
  config.o_bias = !qwen2 && fields.flag("attention_bias", false);
  config.mlp_bias = llama && fields.flag("mlp_bias", false);
  config.qk_norm = qwen3;
  config.tied = fields.flag("tie_word_embeddings", false);

  const Json& act = fields["hidden_act"];
  if (!act.is_null() && act != "silu")
    fields.refuse("hidden_act", act.dump() + " is not supported (silu is)");
  if (fields.flag("use_sliding_window", false)) fields.refuse("use_sliding_window", "true is not supported");
  if (fields["layer_types"].is_array()) {
    for (const Json& kind : fields["layer_types"]) {
      if (kind != "full_attention") fields.refuse("layer_types", kind.dump() + " is not supported");
    }
  }
  if (fields.number("partial_rotary_factor", 1.0) != 1.0) {
    fields.refuse("partial_rotary_factor", "other values than 1 are not supported");
  }
  if (!fields["quantization_config"].is_null()) {
    fields.refuse("quantization_config", "quantised weights are not supported");
  }

  config.eos_ids = parse_eos(generation, where + " (generation_config.json)");
  if (config.eos_ids.empty()) config.eos_ids = parse_eos(json, where);
  const auto pad = json.find("pad_token_id");
  if (pad != json.end() && pad->is_number_integer()) {
    const auto id = pad->get<std::int64_t>();
    if (id >= 0 && id < config.vocab_size) config.pad_id = id;
  }
  return config;
}

Json read_json_file(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return jsonl::parse_record(text);
  } catch (const RecordError& e) {
    throw Error(path + ": " + e.what());
  }
}

ModelConfig read_config(const std::string& dir) {
  const std::string path = dir + "/config.json", generation = dir + "/generation_config.json";
  return parse_config(read_json_file(path),
                      std::filesystem::exists(generation) ? read_json_file(generation) : Json(), path);
}

std::vector<float> rope_frequencies(const ModelConfig& config) {
  const Rope& rope = config.rope;
  std::vector<float> out(static_cast<std::size_t>(config.head_dim / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.head_dim);
    float f = 1.0f / std::pow(static_cast<float>(rope.theta), exponent);
    if (rope.type == RopeType::kLinear) f /= static_cast<float>(rope.factor);
    if (rope.type == RopeType::kLlama3) {
      // Long waves are stretched, short ones kept, those between interpolated (Llama 3.1).
      const double wave = 2 * std::numbers::pi / f, scaled = f / rope.factor;
      const double low = rope.low_freq_factor, high = rope.high_freq_factor, old = rope.original_max_position;
      const double smooth = (old / wave - low) / (high - low);
      if (wave > old / low) {
        f = static_cast<float>(scaled);
      } else if (wave >= old / high) {
        f = static_cast<float>((1 - smooth) * scaled + smooth * f);
      }
    }
    out[i] = f;
  }
  return out;
}

std::int64_t read_weight_version(const std::string& dir) {
  const std::string path = dir + "/leap_state.json";
  if (!std::filesystem::exists(path)) return 0;
  const Json state = read_json_file(path);
  const Json& step = member(state, "step");
  if (!step.is_number_integer()) throw Error(path + ": step: must be an integer");
  return step.get<std::int64_t>();
}

}  // namespace leap::model
