/// Leave-one-out advantages of decompositions and their implementations, from counts instead of programs.
///
/// Theory. L(set) = beta log mean exp(r / beta) over the programs of a set; an action's advantage is what the
/// set's L loses without the programs that use it, times the number of such actions. All sums are over
/// programs with equal rewards, so it is enough to know how many of those there are, and how many of them use
/// each implementation: Outcomes::tally() gives that from the boxes, whatever k^n is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace leap::decomp {

/// Programs of one decomposition with the same reward.
struct Rewarded {
  double reward = 0;
  std::uint64_t programs = 0;
  std::vector<std::vector<std::uint64_t>> used;  ///< [function][implementation]: how many of them use it
};

/// The evaluated programs of a decomposition; none of them counts as one program of reward 0 (it could not be
/// read, or has no program).
using Rewards = std::vector<Rewarded>;

enum class Scope {
  kLocal,  ///< an implementation against the programs of its own decomposition
  kPooled  ///< against those of all decompositions, each of which weighs the same
};

struct AdvantageOptions {
  double beta = 0.1;
  Scope scope = Scope::kLocal;
  std::optional<double> clip;  ///< to [-clip, clip], last
};

struct Advantages {
  std::vector<double> decompositions;
  /// [decomposition][function][implementation]; empty for a decomposition without programs.
  std::vector<std::vector<std::vector<double>>> implementations;
};

/// d (L - L_-i) of each decomposition; k_l (L_i - L_i without it), or d k_l (L - L without it) pooled, of
/// each implementation. 0 where nothing is left without the action.
Advantages advantages(const std::vector<Rewards>& group, const AdvantageOptions& options);

}  // namespace leap::decomp
