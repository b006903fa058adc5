/// AdamW in fp32 over named parameters, gradient clipping and learning-rate schedules.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "training/options.hpp"
#include "training/ranks.hpp"
#include "training/shards.hpp"

namespace leap::training {

/// The rate of step `step` (from 1).
double learning_rate(const RateOptions& options, std::int64_t step);

/// torch.optim.AdamW's update with bias correction. The parameters are fp32 leaves; a parameter without a
/// gradient counts as one whose gradient is 0, so a step never depends on which parameters a batch happened
/// to reach. With several ranks each keeps a part of the moments.
class AdamW {
 public:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    /// Moments, fp32: of the parameter's shape, or with several ranks of this rank's range of its elements.
    at::Tensor first, second;
    Shards::Range range;
  };

  AdamW(const std::vector<std::pair<std::string, at::Tensor>>& parameters, AdamOptions options,
        const Ranks& ranks);

  /// Adds up the ranks' gradients, each rank's share for itself. Before grad_norm() and what follows.
  void reduce_gradients();

  /// The global L2 norm of the gradients.
  double grad_norm() const;

  /// Multiplies the gradients by min(1, max_norm / (norm + 1e-6)).
  void clip(double norm, double max_norm);

  /// Update number `step` (from 1).
  void step(double lr, std::int64_t step);

  void zero_grad();

  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }

  /// A moment of slot `index`, all of it in the parameter's shape; all ranks call it.
  at::Tensor whole(std::size_t index, at::Tensor Slot::*moment) const;

 private:
  at::Tensor share(const Slot& slot, const at::Tensor& tensor) const;
  std::vector<at::Tensor> gradients() const;

  AdamOptions options_;
  const Ranks& ranks_;
  Shards shards_;
  std::vector<Slot> slots_;
};

}  // namespace leap::training
