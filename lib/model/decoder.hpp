/// A Llama-architecture decoder on ATen: the differentiable forward pass that trainers use, and a KV-cached
/// one for devices that have no faster engine. Parameters carry their Hugging Face names.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/config.hpp"
#include "model/safetensors.hpp"

namespace leap::model {

/// "auto", "cpu" or "cuda" to a device. Throws UsageError for other words and for a CUDA that is not there.
at::Device parse_device(const std::string& name);
/// "float32" or "bfloat16". Throws UsageError.
at::ScalarType parse_dtype(const std::string& name);

/// A low-rank addition to a linear layer: y += scale * (x a^T) b^T.
struct LoraPair {
  at::Tensor a;  ///< [rank, in]
  at::Tensor b;  ///< [out, rank]
  double scale = 1.0;
};

/// Keys and values of a batch, one tensor a layer, [batch, kv_heads, capacity, head_dim].
struct KvCache {
  std::vector<at::Tensor> keys;
  std::vector<at::Tensor> values;
};

struct WithoutLora {};

class Decoder {
 public:
  /// Reads config and weights from a Hugging Face directory. Throws Error. A stored type is converted to
  /// `dtype`; narrower to wider is exact.
  Decoder(const std::string& dir, at::ScalarType dtype, at::Device device);
  /// The same model without its low-rank additions; the weights are shared.
  Decoder(const Decoder& other, WithoutLora without);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const ModelConfig& config() const { return config_; }

  /// All parameters in the order of the forward pass; a tied output layer is not among them a second time.
  /// The tensors are the model's own: set requires_grad on them, change them in place.
  const std::vector<std::pair<std::string, at::Tensor>>& parameters() const { return parameters_; }

  /// For each parameter its name, dtype and shape in the checkpoint it came from.
  const std::vector<TensorInfo>& stored() const { return stored_; }

  /// ids [batch, time] int64, positions from 0, causal -> hidden states after the last norm [batch, time, d].
  /// Pad on the right: what comes after a sequence's length is never seen by the sequence, and is to be
  /// ignored.
  at::Tensor forward(const at::Tensor& ids) const;

  /// The parts of forward(), for a trainer that recomputes layers: norm(layer(n-1, .. layer(0, embed(ids)))).
  at::Tensor embed(const at::Tensor& ids) const;
  at::Tensor layer(std::int64_t index, const at::Tensor& x) const;
  at::Tensor norm(const at::Tensor& x) const;

  /// [.., d] -> [.., vocab]
  at::Tensor logits(const at::Tensor& hidden) const;
  /// The weight of the output layer, [vocab, d].
  const at::Tensor& output_weight() const;

  /// ids and positions [batch, time] -> hidden states [batch, time, d]. Writes keys and values at
  /// `positions`, then attends to the first `used` places where `mask` [batch, 1, time, used] is true.
  at::Tensor forward_cached(const at::Tensor& ids, const at::Tensor& positions, KvCache& cache,
                            std::int64_t used, const at::Tensor& mask) const;

  /// Adds `pair` to the linear layer whose weight parameter is `weight_name`. Throws Error when there is
  /// none. A pair without matrices takes it away.
  void set_lora(const std::string& weight_name, LoraPair pair);

 private:
  struct Linear {
    at::Tensor weight, bias;
    LoraPair lora;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct Layer {
    at::Tensor input_norm, post_norm, q_norm, k_norm;
    Linear q, k, v, o, gate, up, down;
  };
  struct Rotation {
    at::Tensor cos, sin;  ///< broadcast to [batch, heads, time, head_dim]
  };
  class Loader;

  at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight) const;
  Rotation rotation(const at::Tensor& positions) const;
  std::tuple<at::Tensor, at::Tensor, at::Tensor> project(const Layer& layer, const at::Tensor& x,
                                                         const Rotation& rotation) const;
  at::Tensor finish(const Layer& layer, const at::Tensor& x, const at::Tensor& attention) const;

  ModelConfig config_;
  at::ScalarType dtype_;
  at::Device device_;
  std::vector<std::pair<std::string, at::Tensor>> parameters_;
  std::vector<TensorInfo> stored_;
  at::Tensor embedding_, final_norm_, frequencies_;
  Linear head_;
  std::vector<Layer> layers_;
  std::unordered_map<std::string, Linear*> linears_;
};

struct TokenScores {
  at::Tensor logprobs;  ///< [n] fp32: log-softmax of logits / temperature at the targets
  at::Tensor entropy;   ///< [n] fp32, of the same distributions
};

/// Scores `targets` [n] given the hidden states [n, d] that predict them (position t-1 scores token t) and
/// `temperature` [n] fp32. Differentiable in hidden and the output weight; logits exist for `chunk` tokens at
/// a time only, in the backward pass too.
TokenScores score_tokens(const at::Tensor& hidden, const at::Tensor& output_weight, const at::Tensor& targets,
                         const at::Tensor& temperature, std::int64_t chunk = 256);

}  // namespace leap::model
