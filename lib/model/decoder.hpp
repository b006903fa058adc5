/// A Llama-architecture decoder on ATen: its parameters under their Hugging Face names, and the KV-cached
/// forward pass for devices that have no faster engine. The pass that trains is in packed.hpp.
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
  friend class PackedPass;
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
  at::Tensor embed(const at::Tensor& ids) const;
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

}  // namespace leap::model
