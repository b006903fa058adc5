#include "training/optimiser.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace leap::training {
namespace {

std::vector<std::int64_t> sizes_of(const std::vector<std::pair<std::string, at::Tensor>>& parameters) {
  std::vector<std::int64_t> sizes;
  for (const auto& [name, parameter] : parameters) sizes.push_back(parameter.numel());
  return sizes;
}

}  // namespace

double learning_rate(const RateOptions& options, std::int64_t step) {
  const auto warmup = static_cast<double>(options.warmup_steps);
  const auto t = static_cast<double>(step);
  if (t < warmup) return options.lr * t / warmup;
  if (options.schedule == Schedule::kConstant) return options.lr;
  const double span = std::max(1.0, static_cast<double>(options.total_steps) - warmup);
  const double done = std::clamp((t - warmup) / span, 0.0, 1.0);
  if (options.schedule == Schedule::kLinear) return options.lr * (1 - done);
  return options.lr * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

AdamW::AdamW(const std::vector<std::pair<std::string, at::Tensor>>& parameters, AdamOptions options,
             const Ranks& ranks)
    : options_(options), ranks_(ranks), shards_(sizes_of(parameters), ranks) {
  for (const auto& [name, parameter] : parameters) {
    Slot slot{name, parameter, {}, {}, shards_.range(ranks.rank(), slots_.size())};
    slot.first = at::zeros_like(share(slot, parameter));
    slot.second = at::zeros_like(slot.first);
    slots_.push_back(std::move(slot));
  }
}

void AdamW::reduce_gradients() {
  if (ranks_.alone()) return;
  std::vector<at::Tensor> all;
  for (Slot& slot : slots_) {
    at::Tensor& gradient = slot.parameter.mutable_grad();
    gradient = gradient.defined() ? gradient.contiguous() : at::zeros_like(slot.parameter.detach());
    all.push_back(gradient);
  }
  shards_.reduce(all);
}

double AdamW::grad_norm() const {
  double squares = 0;
  for (const at::Tensor& gradient : gradients()) {
    const double norm = gradient.norm().item<double>();
    squares += norm * norm;
  }
  const std::vector<double> all = ranks_.gather(squares);
  return std::sqrt(std::accumulate(all.begin(), all.end(), 0.0));
}

void AdamW::clip(double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return;
  for (at::Tensor& gradient : gradients()) gradient.mul_(factor);
}

void AdamW::step(double lr, std::int64_t step) {
  const at::NoGradGuard no_grad;
  for (const bool decayed : {true, false}) {
    std::vector<at::Tensor> parameters, grads, first, second, steps;
    for (Slot& slot : slots_) {
      if ((slot.parameter.dim() >= 2) != decayed) continue;
      if (!slot.parameter.grad().defined()) slot.parameter.mutable_grad() = at::zeros_like(slot.parameter);
      if (slot.first.numel() == 0) continue;
      parameters.push_back(share(slot, slot.parameter));
      grads.push_back(share(slot, slot.parameter.grad()));
      first.push_back(slot.first);
      second.push_back(slot.second);
      // The kernel's count is the number of this update; it does not add one itself.
      steps.push_back(at::full({}, static_cast<double>(step), slot.parameter.options().requires_grad(false)));
    }
    if (parameters.empty()) continue;
    at::_fused_adamw_(parameters, grads, first, second, {}, steps, lr, options_.beta1, options_.beta2,
                      decayed ? options_.weight_decay : 0.0, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
  std::vector<at::Tensor> weights;
  for (const Slot& slot : slots_) weights.push_back(slot.parameter);
  shards_.broadcast(weights);
}

void AdamW::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
}

at::Tensor AdamW::whole(std::size_t index, at::Tensor Slot::*moment) const {
  const Slot& slot = slots_[index];
  if (ranks_.alone()) return slot.*moment;
  const at::Tensor all = at::empty_like(slot.parameter.detach());
  share(slot, all).copy_(slot.*moment);
  std::vector<Collectives::Part> parts;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const Shards::Range range = shards_.range(rank, index);
    if (range.size() > 0) parts.push_back({all.view(-1).narrow(0, range.begin, range.size()), rank});
  }
  ranks_.broadcast(parts);
  return all;
}

/// This rank's part of a tensor shaped as the slot's parameter.
at::Tensor AdamW::share(const Slot& slot, const at::Tensor& tensor) const {
  if (ranks_.alone()) return tensor.detach();
  return tensor.detach().view(-1).narrow(0, slot.range.begin, slot.range.size());
}

std::vector<at::Tensor> AdamW::gradients() const {
  std::vector<at::Tensor> out;
  for (const Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) out.push_back(share(slot, slot.parameter.grad()));
  }
  return out;
}

}  // namespace leap::training
