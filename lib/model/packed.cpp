#include "model/packed.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "model/layer_math.hpp"

namespace leap::model {

at::Tensor& gradient_of(const at::Tensor& parameter) {
  at::Tensor& grad = parameter.mutable_grad();
  if (!grad.defined()) grad = at::zeros_like(parameter);
  return grad;
}

void add_product(const at::Tensor& parameter, const at::Tensor& left, const at::Tensor& right) {
  at::Tensor& grad = gradient_of(parameter);
  if (left.scalar_type() == grad.scalar_type()) {
    grad.addmm_(left, right);
  } else {
    grad.add_(at::mm(left, right));
  }
}

PackedPass::PackedPass(const Decoder& decoder, const PackedIds& ids, PassOptions options)
    : decoder_(decoder), config_(decoder.config()), options_(options), segments_(ids.segments) {
  std::vector<std::int64_t> positions(ids.ids.size());
  for (const Segment& segment : segments_) {
    for (std::int64_t i = 0; i < segment.length; ++i)
      positions[static_cast<std::size_t>(segment.start + i)] = segment.position + i;
  }
  const at::Device device = decoder.device_;
  ids_ = at::tensor(ids.ids).to(device);
  const at::Tensor angles =
      at::tensor(positions).to(device).to(at::kFloat).unsqueeze(-1) * decoder.frequencies_;
  cos_ = angles.cos();
  sin_ = angles.sin();
}

at::Tensor PackedPass::apply(const Linear& linear, const at::Tensor& x) const {
  at::Tensor y = times_transposed(x, cast(linear.weight));
  if (linear.bias.defined()) y.add_(linear.bias);
  if (linear.lora.a.defined()) {
    const at::Tensor low = times_transposed(x, cast(linear.lora.a));
    y.add_(times_transposed(low, cast(linear.lora.b)), linear.lora.scale);
  }
  return y;
}

at::Tensor PackedPass::input_gradient(const Linear& linear, const at::Tensor& grad) const {
  at::Tensor x_grad = times(grad, cast(linear.weight));
  if (linear.lora.a.defined()) {
    x_grad.add_(times(times(grad, cast(linear.lora.b)), cast(linear.lora.a)), linear.lora.scale);
  }
  return x_grad;
}

void PackedPass::weight_gradient(const Linear& linear, const at::Tensor& x, const at::Tensor& grad) const {
  if (linear.weight.requires_grad()) add_product(linear.weight, grad.t(), x);
  if (linear.bias.defined() && linear.bias.requires_grad())
    gradient_of(linear.bias).add_(grad.sum(0, false, linear.bias.scalar_type()));
  const LoraPair& lora = linear.lora;
  if (!lora.a.defined() || !lora.a.requires_grad()) return;
  const at::Tensor scaled = grad * lora.scale;
  add_product(lora.b, scaled.t(), times_transposed(x, cast(lora.a)));
  add_product(lora.a, times(scaled, cast(lora.b)).t(), x);
}

void PackedPass::norm_gradient(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& grad,
                               at::Tensor& x_grad) const {
  at::Tensor weight_grad = weight.requires_grad() ? gradient_of(weight) : at::Tensor();
  rms_norm_gradient(x, weight, config_.norm_eps, grad, x_grad, weight_grad);
}

at::Tensor PackedPass::forward(bool keep) {
  const at::NoGradGuard no_grad;
  at::Tensor x = cast(at::embedding(decoder_.embedding_, ids_));
  for (const Layer& layer : decoder_.layers_) {
    Kept kept;
    kept.input = x;
    x = forward(layer, kept);
    if (!keep) continue;
    kept_.emplace_back();
    if (options_.checkpointing) {
      kept_.back().input = kept.input;
    } else {
      kept_.back() = std::move(kept);
    }
  }
  if (keep) last_ = x;
  return rms_norm(x, decoder_.final_norm_, config_.norm_eps);
}

void PackedPass::backward(at::Tensor grad) {
  const at::NoGradGuard no_grad;
  at::Tensor x_grad = at::zeros_like(last_);
  norm_gradient(last_, decoder_.final_norm_, grad, x_grad);
  last_.reset();
  grad = std::move(x_grad);
  for (std::size_t i = decoder_.layers_.size(); i-- > 0;) {
    Kept kept = std::move(kept_.back());
    kept_.pop_back();
    if (options_.checkpointing) forward(decoder_.layers_[i], kept);
    grad = backward(decoder_.layers_[i], kept, std::move(grad));
  }
  const at::Tensor& embedding = decoder_.embedding_;
  if (!embedding.requires_grad()) return;
  // As in transformers, the row of the padding token gets no gradient here.
  const at::Tensor wide = grad.to(embedding.scalar_type());
  if (grad.device().is_cpu()) {
    const at::Tensor used = ids_.ne(config_.pad_id).unsqueeze(-1);
    gradient_of(embedding).index_add_(0, ids_, wide * used);
  } else {
    gradient_of(embedding).add_(
        at::embedding_dense_backward(wide, ids_, embedding.size(0), config_.pad_id, false));
  }
}

at::Tensor PackedPass::forward(const Layer& layer, Kept& kept) const {
  const at::Tensor& x = kept.input;
  at::Tensor h = rms_norm(x, layer.input_norm, config_.norm_eps);
  const auto heads = [&](const Linear& linear, const at::Tensor& norm, at::Tensor& raw) {
    at::Tensor y = apply(linear, h);
    if (config_.qk_norm) {
      raw = y;
      y = rms_norm(y.view({-1, config_.head_dim}), norm, config_.norm_eps).view_as(raw);
    }
    return split_heads(y, config_.kv_heads, config_.head_dim, cos_, sin_);
  };
  kept.q = heads(layer.q, layer.q_norm, kept.q_raw);
  kept.k = heads(layer.k, layer.k_norm, kept.k_raw).squeeze(2);
  kept.v = split_heads(apply(layer.v, h), config_.kv_heads, config_.head_dim, {}, {}).squeeze(2);
  kept.attention = tree_attention(kept.q, kept.k, kept.v, segments_);
  kept.middle = apply(layer.o, merge_heads(kept.attention.out, {}, {})).add_(x);
  h = rms_norm(kept.middle, layer.post_norm, config_.norm_eps);
  kept.gate = apply(layer.gate, h);
  kept.up = apply(layer.up, h);
  return apply(layer.down, swiglu(kept.gate, kept.up)).add_(kept.middle);
}

at::Tensor PackedPass::backward(const Layer& layer, Kept& kept, at::Tensor grad) const {
  at::Tensor activation = input_gradient(layer.down, grad);
  swiglu_gradient(kept.gate, kept.up, activation);
  weight_gradient(layer.down, activation, grad);
  activation.reset();
  at::Tensor h = rms_norm(kept.middle, layer.post_norm, config_.norm_eps);
  weight_gradient(layer.gate, h, kept.gate);
  weight_gradient(layer.up, h, kept.up);
  at::Tensor h_grad = input_gradient(layer.gate, kept.gate).add_(input_gradient(layer.up, kept.up));
  kept.gate.reset();
  kept.up.reset();
  norm_gradient(kept.middle, layer.post_norm, h_grad, grad);

  weight_gradient(layer.o, merge_heads(kept.attention.out, {}, {}), grad);
  h_grad = split_heads(input_gradient(layer.o, grad), config_.kv_heads, config_.head_dim, {}, {});
  AttentionGradient heads =
      tree_attention_gradient(kept.q, kept.k, kept.v, kept.attention, h_grad, segments_);
  const at::Tensor q = projected(merge_heads(heads.q, cos_, sin_), kept.q_raw, layer.q_norm);
  const at::Tensor k = projected(merge_heads(heads.k.unsqueeze(2), cos_, sin_), kept.k_raw, layer.k_norm);
  const at::Tensor v = merge_heads(heads.v.unsqueeze(2), {}, {});
  h = rms_norm(kept.input, layer.input_norm, config_.norm_eps);
  weight_gradient(layer.q, h, q);
  weight_gradient(layer.k, h, k);
  weight_gradient(layer.v, h, v);
  h_grad = input_gradient(layer.q, q).add_(input_gradient(layer.k, k)).add_(input_gradient(layer.v, v));
  norm_gradient(kept.input, layer.input_norm, h_grad, grad);
  return grad;
}

at::Tensor PackedPass::projected(const at::Tensor& grad, const at::Tensor& raw,
                                 const at::Tensor& norm) const {
  if (!config_.qk_norm) return grad;
  at::Tensor out = at::zeros_like(grad);
  at::Tensor rows = out.view({-1, config_.head_dim});
  norm_gradient(raw.view({-1, config_.head_dim}), norm, grad.view({-1, config_.head_dim}), rows);
  return out;
}

}  // namespace leap::model
