#include "model/layout.hpp"

#include <unordered_set>

#include "base/error.hpp"

namespace leap::model {

std::vector<TensorInfo> parameter_layout(const ModelConfig& config) {
  const std::int64_t d = config.hidden_size, q = config.heads * config.head_dim,
                     kv = config.kv_heads * config.head_dim, ffn = config.intermediate_size;
  std::vector<TensorInfo> out;
  auto vector = [&](const std::string& name, std::int64_t n) { out.push_back({name, "", {n}}); };
  auto linear = [&](const std::string& name, std::int64_t n, std::int64_t k, bool bias) {
    out.push_back({name + ".weight", "", {n, k}});
    if (bias) vector(name + ".bias", n);
  };
  linear("model.embed_tokens", config.vocab_size, d, false);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    vector(layer + "input_layernorm.weight", d);
    linear(layer + "self_attn.q_proj", q, d, config.qkv_bias);
    linear(layer + "self_attn.k_proj", kv, d, config.qkv_bias);
    linear(layer + "self_attn.v_proj", kv, d, config.qkv_bias);
    if (config.qk_norm) {
      vector(layer + "self_attn.q_norm.weight", config.head_dim);
      vector(layer + "self_attn.k_norm.weight", config.head_dim);
    }
    linear(layer + "self_attn.o_proj", d, q, config.o_bias);
    vector(layer + "post_attention_layernorm.weight", d);
    linear(layer + "mlp.gate_proj", ffn, d, config.mlp_bias);
    linear(layer + "mlp.up_proj", ffn, d, config.mlp_bias);
    linear(layer + "mlp.down_proj", d, ffn, config.mlp_bias);
  }
  vector("model.norm.weight", d);
  if (!config.tied) linear("lm_head", config.vocab_size, d, false);
  return out;
}

void check_layout(const ModelConfig& config, const SafetensorsReader& reader) {
  std::unordered_set<std::string> known;
  for (const TensorInfo& want : parameter_layout(config)) {
    if (reader.at(want.name).shape != want.shape) {
      throw Error("tensor '" + want.name + "': its shape does not suit config.json");
    }
    known.insert(want.name);
  }
  for (const TensorView& view : reader.tensors()) {
    const bool table = view.name.ends_with(".rotary_emb.inv_freq");
    const bool second_head = config.tied && view.name == "lm_head.weight";
    if (!table && !second_head && known.count(view.name) == 0) {
      throw Error("tensor '" + view.name + "' has no place in a " + config.model_type + " model");
    }
  }
}

}  // namespace leap::model
