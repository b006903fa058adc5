/// Difficulty-Conditioned Pruning: further turns only for groups where they pay (arXiv 2608.01804; algorithms
/// in leap-prune(1)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jsonl/json.hpp"

namespace leap {

/// A number of rollouts: a count, or a fraction of the scorable first turns.
struct Threshold {
  double value = 0;
  bool fraction = false;

  /// With a decimal point a fraction (0.0 to 1.0), without one a count. UsageError starting with `option`
  /// otherwise.
  static Threshold parse(const std::string& option, const std::string& text);
  double of(std::size_t n) const { return fraction ? value * static_cast<double>(n) : value; }
  double slack() const { return fraction ? 1e-9 : 0; }
};

struct PruneOptions {
  Threshold easy_below{0.5, true};          ///< T_min: fewer first-turn failures are easy
  std::optional<Threshold> hopeless_above;  ///< T_max: more are hopeless; default n - 1
  std::size_t max_turns = 3;                ///< T
  std::size_t stall = 0;                    ///< stop after K turns that change nothing; 0 is off
};

enum class Decision { kExpand, kEasy, kHopeless };

/// From n scorable first turns of which `failed` failed. n < 2 is never expanded.
Decision decide(std::size_t n, std::size_t failed, const PruneOptions& options);

/// Sets `group` {size, scorable, failed_first, decision} and every rollout's `state` and `stop_reason`. A
/// pure function of the record and the options: a rollout stopped before may be opened again. RecordError
/// without verdicts.
void prune(Json& record, const PruneOptions& options);

/// Has a record been pruned (a decision, and a state on every rollout)?
bool is_pruned(const Json& record);

}  // namespace leap
