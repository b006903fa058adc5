/// The pass that trains: a decoder's forward and backward pass over packed sequences, none of them padded,
/// beginnings that several share computed once. Gradients are written by hand rather than recorded: each is
/// added where it belongs as soon as it is known, and a layer keeps only what its gradient needs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/decoder.hpp"
#include "model/tree_attention.hpp"

namespace leap::model {

/// The ids of a forest of segments, in their order.
struct PackedIds {
  std::vector<std::int64_t> ids;
  std::vector<Segment> segments;
};

struct PassOptions {
  at::ScalarType compute = at::kFloat;  ///< of activations and products; weights and their gradients stay
  bool checkpointing = false;           ///< layers keep their input only and are computed again
};

class PackedPass {
 public:
  PackedPass(const Decoder& decoder, const PackedIds& ids, PassOptions options);
  PackedPass(const PackedPass&) = delete;
  PackedPass& operator=(const PackedPass&) = delete;

  /// Hidden states after the last norm, [tokens, d]. With `keep`, what backward() needs is kept.
  at::Tensor forward(bool keep);

  /// Given the gradient of what forward() returned: adds to the grad() of all parameters that require one.
  /// Once only.
  void backward(at::Tensor grad);

 private:
  using Linear = Decoder::Linear;
  using Layer = Decoder::Layer;
  /// What a layer's gradient needs; undefined but for the input when it is to be computed again.
  struct Kept {
    at::Tensor input, q, k, v, q_raw, k_raw, middle, gate, up;
    Attention attention;
  };

  at::Tensor cast(const at::Tensor& weight) const { return weight.to(options_.compute); }
  at::Tensor apply(const Linear& linear, const at::Tensor& x) const;
  at::Tensor input_gradient(const Linear& linear, const at::Tensor& grad) const;
  void weight_gradient(const Linear& linear, const at::Tensor& x, const at::Tensor& grad) const;
  void norm_gradient(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& grad,
                     at::Tensor& x_grad) const;

  at::Tensor forward(const Layer& layer, Kept& kept) const;
  at::Tensor backward(const Layer& layer, Kept& kept, at::Tensor grad) const;
  /// The gradient of what the projection gave, from that of the heads.
  at::Tensor projected(const at::Tensor& grad, const at::Tensor& raw, const at::Tensor& norm) const;

  const Decoder& decoder_;
  const ModelConfig& config_;
  PassOptions options_;
  std::vector<Segment> segments_;
  at::Tensor ids_, cos_, sin_;
  std::vector<Kept> kept_;
  at::Tensor last_;  ///< the last layer's output
};

/// The gradient of a leaf, zeros where it has none yet.
at::Tensor& gradient_of(const at::Tensor& parameter);

/// leaf's gradient += left right
void add_product(const at::Tensor& parameter, const at::Tensor& left, const at::Tensor& right);

}  // namespace leap::model
