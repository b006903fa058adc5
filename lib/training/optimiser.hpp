/// AdamW in fp32 over named parameters, gradient clipping and learning-rate schedules.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "training/options.hpp"

namespace leap::training {

/// The rate of step `step` (from 1).
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
