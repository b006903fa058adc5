// score_tokens(): the output layer and its softmax, a chunk of tokens at a time in both directions.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "model/decoder.hpp"

namespace leap::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor scaled_logits(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& temperature) {
  return at::linear(hidden, weight).to(at::kFloat) / temperature.unsqueeze(-1);
}

/// Only log-sums are kept for the backward pass, which computes the logits again.
struct ScoreFunction : torch::autograd::Function<ScoreFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& hidden, const at::Tensor& weight,
                               const at::Tensor& targets, const at::Tensor& temperature, std::int64_t chunk) {
    const std::int64_t n = hidden.size(0);
    at::Tensor logprobs = at::empty({n}, hidden.options().dtype(at::kFloat));
    at::Tensor entropy = at::empty_like(logprobs), sums = at::empty_like(logprobs);
    for (std::int64_t from = 0; from < n; from += chunk) {
      const std::int64_t count = std::min(chunk, n - from);
      const at::Tensor z =
          scaled_logits(hidden.narrow(0, from, count), weight, temperature.narrow(0, from, count));
      const at::Tensor sum = at::logsumexp(z, -1);
      sums.narrow(0, from, count).copy_(sum);
      logprobs.narrow(0, from, count)
          .copy_(z.gather(-1, targets.narrow(0, from, count).unsqueeze(-1)).squeeze(-1) - sum);
      entropy.narrow(0, from, count).copy_(sum - ((z - sum.unsqueeze(-1)).exp() * z).sum(-1));
    }
    ctx->save_for_backward({hidden, weight, targets, temperature, sums, entropy});
    ctx->saved_data["chunk"] = chunk;
    return {logprobs, entropy};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1], &targets = saved[2], &temperature = saved[3];
    const at::Tensor &sums = saved[4], &entropy = saved[5];
    const std::int64_t n = hidden.size(0), chunk = ctx->saved_data["chunk"].toInt();
    const bool to_hidden = ctx->needs_input_grad(0), to_weight = ctx->needs_input_grad(1);
    at::Tensor hidden_grad, weight_grad;
    if (to_hidden) hidden_grad = at::empty_like(hidden);
    if (to_weight) weight_grad = at::zeros_like(weight);
    for (std::int64_t from = 0; from < n; from += chunk) {
      const std::int64_t count = std::min(chunk, n - from);
      auto part = [&](const at::Tensor& t) { return t.narrow(0, from, count); };
      const at::Tensor z = scaled_logits(part(hidden), weight, part(temperature));
      const at::Tensor logp = z - part(sums).unsqueeze(-1), p = logp.exp();
      // d logprob / dz = onehot - p;  d entropy / dz = -p (log p + entropy)
      at::Tensor g;
      if (grads[0].defined()) {
        const at::Tensor up = part(grads[0]).unsqueeze(-1);
        g = -(p * up);
        g.scatter_add_(-1, part(targets).unsqueeze(-1), up);
      } else {
        g = at::zeros_like(p);
      }
      if (grads[1].defined()) {
        g = g - part(grads[1]).unsqueeze(-1) * p * (logp + part(entropy).unsqueeze(-1));
      }
      g = (g / part(temperature).unsqueeze(-1)).to(hidden.scalar_type());
      if (to_hidden) part(hidden_grad).copy_(g.matmul(weight));
      if (to_weight) weight_grad.addmm_(g.t(), part(hidden));
    }
    return {hidden_grad, weight_grad, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

TokenScores score_tokens(const at::Tensor& hidden, const at::Tensor& output_weight, const at::Tensor& targets,
                         const at::Tensor& temperature, std::int64_t chunk) {
  variable_list out = ScoreFunction::apply(hidden, output_weight, targets, temperature, chunk);
  return {out[0], out[1]};
}

}  // namespace leap::model
