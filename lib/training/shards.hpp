/// Which rank keeps the optimiser's state of which weights, and the exchange of gradients and weights that
/// follows from it.
///
/// Theory (ZeRO, stage 1). All elements of all parameters stand in a row that is cut into equal stretches,
/// one a rank. The sums of gradients are needed only where the moments are: each stretch is reduced to its
/// rank, which updates its weights and sends them to the others. That moves as many bytes as summing all
/// gradients everywhere, and divides the moments and the work of the update by the number of ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "training/ranks.hpp"

namespace leap::training {

class Shards {
 public:
  /// Elements [begin, end) of a flattened parameter.
  struct Range {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end - begin; }
  };

  Shards(const std::vector<std::int64_t>& sizes, const Ranks& ranks);

  /// What rank `rank` keeps of parameter `index`; may be empty.
  Range range(int rank, std::size_t index) const;

  /// Each rank's own ranges of `gradients` become the sums over all ranks.
  void reduce(const std::vector<at::Tensor>& gradients) const;
  /// Each rank's own ranges of `weights` become everybody's.
  void broadcast(const std::vector<at::Tensor>& weights) const;

 private:
  class Exchange;
  void exchange(const std::vector<at::Tensor>& tensors,
                void (Ranks::*move)(std::vector<Collectives::Part>) const) const;

  const Ranks& ranks_;
  std::vector<std::int64_t> starts_;  // of each parameter in the row, and the row's end
  std::int64_t stretch_;
};

}  // namespace leap::training
