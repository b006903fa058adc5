#include "training/split.hpp"

#include <algorithm>

namespace leap::training {
namespace {

/// The rank of each action when no rank takes more than `room`; may need more ranks than there are.
std::vector<int> fill(const std::vector<ActionCost>& costs, std::int64_t room) {
  std::vector<int> ranks;
  std::int64_t taken = 0;
  int rank = 0;
  for (const ActionCost& cost : costs) {
    std::int64_t more = taken > 0 ? cost.tokens - cost.shared : cost.tokens;
    if (taken > 0 && taken + more > room) {
      taken = 0;
      more = cost.tokens;
      ++rank;
    }
    taken += more;
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::vector<int> split_actions(const std::vector<ActionCost>& costs, int ranks) {
  if (costs.empty()) return {};
  std::int64_t low = 0, high = 0;
  for (const ActionCost& cost : costs) {
    low = std::max(low, cost.tokens);
    high += cost.tokens;
  }
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fill(costs, middle).back() < ranks) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return fill(costs, low);
}

}  // namespace leap::training
