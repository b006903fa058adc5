/// AdamW in fp32 over named parameters, gradient clipping and learning-rate schedules.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leap::training {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< decoupled, on tensors with two or more dimensions only
};

enum class Schedule { kConstant, kLinear, kCosine };

/// Throws UsageError on an unknown name.
Schedule schedule_named(std::string_view name);

/// Step t of t = 1, 2, .. uses lr * min(1, t / warmup_steps), from there on constant or falling to 0 at
/// `total_steps`.
struct RateOptions {
  double lr = 1e-6;
  Schedule schedule = Schedule::kConstant;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;  ///< of the falling schedules
};
double learning_rate(const RateOptions& options, std::int64_t step);

/// torch.optim.AdamW's update with bias correction. The parameters are fp32 leaves; a parameter without a
/// gradient counts as one whose gradient is 0, so a step never depends on which parameters a batch happened
/// to reach.
class AdamW {
 public:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    at::Tensor first, second;  ///< moments, fp32, of the parameter's shape
  };

  AdamW(const std::vector<std::pair<std::string, at::Tensor>>& parameters, AdamOptions options);

  /// The global L2 norm of the gradients.
  double grad_norm() const;

  /// Multiplies the gradients by min(1, max_norm / (norm + 1e-6)).
  void clip(double norm, double max_norm);

  /// Update number `step` (from 1).
  void step(double lr, std::int64_t step);

  void zero_grad();

  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  std::vector<at::Tensor> gradients() const;

  AdamOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace leap::training
