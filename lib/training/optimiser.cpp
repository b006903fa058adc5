#include "training/optimiser.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace leap::training {

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

AdamW::AdamW(const std::vector<std::pair<std::string, at::Tensor>>& parameters, AdamOptions options)
    : options_(options) {
  for (const auto& [name, parameter] : parameters) {
    slots_.push_back({name, parameter, at::zeros_like(parameter), at::zeros_like(parameter)});
  }
}

double AdamW::grad_norm() const {
  double squares = 0;
  for (const at::Tensor& gradient : gradients()) {
    const double norm = gradient.norm().item<double>();
    squares += norm * norm;
  }
  return std::sqrt(squares);
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
      parameters.push_back(slot.parameter.detach());
      grads.push_back(slot.parameter.grad());
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
}

void AdamW::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
}

std::vector<at::Tensor> AdamW::gradients() const {
  std::vector<at::Tensor> out;
  for (const Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) out.push_back(slot.parameter.grad());
  }
  return out;
}

}  // namespace leap::training
