/// Which rank trains which actions of a batch.
#pragma once

#include <cstdint>
#include <vector>

namespace leap::training {

struct ActionCost {
  std::int64_t tokens = 0;
  std::int64_t shared = 0;  ///< of those, the ones that cost nothing beside the action before it
};

/// The actions are cut into one stretch a rank, which keeps the turns of a rollout and the rollouts of a
/// record together where it can; the largest stretch is as small as possible. Returns the rank of each
/// action. Some ranks may get none.
std::vector<int> split_actions(const std::vector<ActionCost>& costs, int ranks);

}  // namespace leap::training
