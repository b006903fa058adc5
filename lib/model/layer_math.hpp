/// The parts of a decoder's layer that are no matrix products, each with its gradient: plain tensors in and
/// out, no autograd. Fused loops for float32 on the CPU, ATen for everything else.
#pragma once

#include <ATen/core/Tensor.h>

namespace leap::model {

/// [tokens, n] over the last dimension; the result has x's type.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
/// Adds to `x_grad` [tokens, n], and to `weight_grad` where it is defined.
void rms_norm_gradient(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& grad,
                       at::Tensor& x_grad, at::Tensor& weight_grad);

/// silu(gate) * up
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);
/// `gate` and `up` become their gradients, `grad` becomes swiglu(gate, up).
void swiglu_gradient(at::Tensor& gate, at::Tensor& up, at::Tensor& grad);

/// x [tokens, heads * head_dim] to [kv_heads, tokens, heads / kv_heads, head_dim], contiguous; rotated by
/// `cos` and `sin` [tokens, head_dim / 2] where these are defined. The second half of a head is the imaginary
/// part (Hugging Face's layout, not Meta's pairs).
at::Tensor split_heads(const at::Tensor& x, std::int64_t kv_heads, std::int64_t head_dim,
                       const at::Tensor& cos, const at::Tensor& sin);
/// The other way, rotated back; also the gradient of split_heads.
at::Tensor merge_heads(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

/// x weight^T
at::Tensor times_transposed(const at::Tensor& x, const at::Tensor& weight);
/// g weight
at::Tensor times(const at::Tensor& g, const at::Tensor& weight);

/// Are the fused loops used for `x`?
bool is_plain(const at::Tensor& x);

}  // namespace leap::model
