#include "model/token_scores.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <limits>
#include <utility>

#include "model/kernels.hpp"
#include "model/layer_math.hpp"
#include "model/packed.hpp"

namespace leap::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Some rows of the output layer.
struct Chunk {
  at::Tensor z;            ///< [rows, vocab]: logits / temperature
  at::Tensor exponential;  ///< or in their place e^z, but for a factor: divided by `sum` it is the softmax
  at::Tensor sum;          ///< [rows] of the exponentials
  at::Tensor log_sum;      ///< [rows] logsumexp of z
  TokenScores scores;
};

Chunk score_chunk(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets,
                  const at::Tensor& temperature) {
  Chunk out;
  at::Tensor logits = times_transposed(hidden, weight);
  const std::int64_t rows = logits.size(0), vocab = logits.size(1);
  if (!is_plain(logits)) {
    out.z = logits.to(at::kFloat).div_(temperature.unsqueeze(-1));
    out.log_sum = at::logsumexp(out.z, -1);
    out.scores.logprobs = out.z.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - out.log_sum;
    out.scores.entropy = out.log_sum - ((out.z - out.log_sum.unsqueeze(-1)).exp() * out.z).sum(-1);
    return out;
  }
  out.sum = at::empty({rows}, logits.options());
  out.log_sum = at::empty_like(out.sum);
  out.scores = {at::empty_like(out.sum), at::empty_like(out.sum)};
  float *z = logits.data_ptr<float>(), *sum = out.sum.data_ptr<float>(),
        *log_sum = out.log_sum.data_ptr<float>(), *logprob = out.scores.logprobs.data_ptr<float>(),
        *entropy = out.scores.entropy.data_ptr<float>();
  const float* degrees = temperature.const_data_ptr<float>();
  const auto* target = targets.const_data_ptr<std::int64_t>();
  const auto n = static_cast<std::size_t>(vocab);
  at::parallel_for(0, rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float *row = z + i * vocab, weighted = 0;
      const float scale = 1 / degrees[i], top = kernels().maximum(row, n), chosen = row[target[i]];
      sum[i] = kernels().softmax_sums(row, n, top, scale, &weighted);
      const float log = std::log(sum[i]);
      logprob[i] = (chosen - top) * scale - log;
      entropy[i] = log - weighted / sum[i];
      log_sum[i] = top * scale + log;
    }
  });
  out.exponential = logits;
  return out;
}

/// The gradient by the logits, in place of what `chunk` holds. d logprob / dz = onehot - p;
/// d entropy / dz = -p (log p + entropy)
at::Tensor logit_gradient(Chunk& chunk, const TokenScores& grad, const at::Tensor& targets,
                          const at::Tensor& temperature) {
  const at::Tensor up = grad.logprobs / temperature;
  at::Tensor p;
  if (chunk.exponential.defined()) {
    p = std::exchange(chunk.exponential, {}).div_(chunk.sum.unsqueeze(-1));
  } else {
    p = std::exchange(chunk.z, {}).sub_(chunk.log_sum.unsqueeze(-1)).exp_();
  }
  at::Tensor spread;
  if (grad.entropy.defined()) {
    const at::Tensor logp = p.clamp_min(std::numeric_limits<float>::min()).log();
    spread = (grad.entropy / temperature).unsqueeze(-1) * p * (logp + chunk.scores.entropy.unsqueeze(-1));
  }
  at::Tensor g = p.mul_(-up.unsqueeze(-1));
  if (spread.defined()) g.sub_(spread);
  return g.scatter_add_(-1, targets.unsqueeze(-1), up.unsqueeze(-1));
}

/// Only log-sums are kept for the backward pass.
struct ScoreFunction : torch::autograd::Function<ScoreFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& hidden, const at::Tensor& weight,
                               const at::Tensor& targets, const at::Tensor& temperature, std::int64_t chunk) {
    const std::int64_t n = hidden.size(0);
    at::Tensor logprobs = at::empty({n}, hidden.options().dtype(at::kFloat));
    at::Tensor entropy = at::empty_like(logprobs), sums = at::empty_like(logprobs);
    for (std::int64_t from = 0; from < n; from += chunk) {
      const std::int64_t count = std::min(chunk, n - from);
      const Chunk rows = score_chunk(hidden.narrow(0, from, count), weight, targets.narrow(0, from, count),
                                     temperature.narrow(0, from, count));
      logprobs.narrow(0, from, count).copy_(rows.scores.logprobs);
      entropy.narrow(0, from, count).copy_(rows.scores.entropy);
      sums.narrow(0, from, count).copy_(rows.log_sum);
    }
    ctx->save_for_backward({hidden, weight, targets, temperature, sums, entropy});
    ctx->saved_data["chunk"] = chunk;
    return {logprobs, entropy};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1];
    const std::int64_t n = hidden.size(0), chunk = ctx->saved_data["chunk"].toInt();
    const bool to_hidden = ctx->needs_input_grad(0), to_weight = ctx->needs_input_grad(1);
    at::Tensor hidden_grad, weight_grad;
    if (to_hidden) hidden_grad = at::empty_like(hidden);
    if (to_weight) weight_grad = at::zeros_like(weight);
    for (std::int64_t from = 0; from < n; from += chunk) {
      const std::int64_t count = std::min(chunk, n - from);
      const auto part = [&](const at::Tensor& t) { return t.defined() ? t.narrow(0, from, count) : t; };
      Chunk rows;
      rows.z = times_transposed(part(hidden), weight).to(at::kFloat).div_(part(saved[3]).unsqueeze(-1));
      rows.log_sum = part(saved[4]);
      rows.scores.entropy = part(saved[5]);
      const at::Tensor up = grads[0].defined() ? part(grads[0]) : at::zeros_like(rows.log_sum);
      const at::Tensor g =
          logit_gradient(rows, {up, part(grads[1])}, part(saved[2]), part(saved[3])).to(hidden.scalar_type());
      if (to_hidden) part(hidden_grad).copy_(times(g, weight));
      if (to_weight) weight_grad.addmm_(g.t(), part(hidden));
    }
    return {hidden_grad, weight_grad, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

TokenScores score_tokens(const at::Tensor& hidden, const at::Tensor& output_weight, const at::Tensor& targets,
                         const at::Tensor& temperature, std::int64_t chunk) {
  variable_list out =
      ScoreFunction::apply(hidden, output_weight.to(hidden.scalar_type()), targets, temperature, chunk);
  return {out[0], out[1]};
}

at::Tensor differentiate_scores(const at::Tensor& hidden, const at::Tensor& output_weight,
                                const at::Tensor& targets, const at::Tensor& temperature,
                                const ScoreGradient& gradient, std::int64_t chunk) {
  const at::NoGradGuard no_grad;
  const std::int64_t n = hidden.size(0);
  const at::Tensor weight = output_weight.to(hidden.scalar_type());
  at::Tensor out = at::empty_like(hidden);
  for (std::int64_t from = 0; from < n; from += chunk) {
    const std::int64_t count = std::min(chunk, n - from);
    const auto part = [&](const at::Tensor& t) { return t.narrow(0, from, count); };
    Chunk rows = score_chunk(part(hidden), weight, part(targets), part(temperature));
    const TokenScores grad = gradient(from, rows.scores);
    const at::Tensor g =
        logit_gradient(rows, grad, part(targets), part(temperature)).to(hidden.scalar_type());
    part(out).copy_(times(g, weight));
    if (output_weight.requires_grad()) add_product(output_weight, g.t(), part(hidden));
  }
  return out;
}

}  // namespace leap::model
