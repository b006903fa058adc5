/// What config.json and generation_config.json say about a model, checked: a config this room cannot compute
/// exactly is refused by the name of the field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jsonl/json.hpp"

namespace leap::model {

enum class RopeType { kDefault, kLinear, kLlama3 };

struct Rope {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;
  double factor = 1.0;
  double low_freq_factor = 1.0;  ///< llama3 only, as the next two
  double high_freq_factor = 4.0;
  double original_max_position = 8192.0;
};

/// Llama 2/3.x, Qwen2/2.5 or Qwen3.
struct ModelConfig {
  std::string model_type;
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;  ///< 0 when the config does not say
  double norm_eps = 1e-6;
  Rope rope;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  ///< Qwen3: each head's query and key is normalised before the rotation
  bool tied = false;     ///< the output layer is the embedding
  std::vector<std::int64_t> eos_ids;
  std::int64_t pad_id = -1;  ///< -1: none
};

/// Throws Error naming file and field.
ModelConfig read_config(const std::string& dir);

/// `where` stands at the front of error messages. `generation` may be null.
ModelConfig parse_config(const Json& config, const Json& generation, const std::string& where);

/// The angle a position adds in each of the head_dim/2 planes, in single precision as transformers computes
/// it.
std::vector<float> rope_frequencies(const ModelConfig& config);

/// The "step" of DIR/leap_state.json, 0 without that file.
std::int64_t read_weight_version(const std::string& dir);

/// A JSON file as an object; Error names the file.
Json read_json_file(const std::string& path);

}  // namespace leap::model
