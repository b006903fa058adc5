/// Outcomes of a group into rewards and advantages (arXiv 2608.01804; formulas in leap-rank(1)).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "jsonl/json.hpp"

namespace leap {

enum class Reward { kRank, kBinary, kKevin, kPassK };
enum class Advantage { kDefault, kNone, kMean, kRloo, kGrpo };
enum class Credit { kTurn, kTrajectory };

struct RankOptions {
  Reward reward = Reward::kRank;
  Advantage advantage = Advantage::kDefault;  ///< kDefault: none with rank, rloo with the others
  Credit credit = Credit::kTurn;
  double gamma = 0.4;     ///< discount of a positive advantage back over the turns, and of kevin's sum
  std::size_t k = 4;      ///< of passk
  bool recenter = false;  ///< subtract the mean per turn
  bool by_speed = false;  ///< rank: among equal solves the faster one beats the slower one, at half weight
  bool partial = false;   ///< rank: among failures more tests passed beat fewer, at half weight
};

/// What ranking needs to know of one scorable rollout.
struct Standing {
  std::size_t solved_at = 0;  ///< t*, from 1; 0 is failed
  std::vector<double>
      solved_speedups;      ///< [turns]: speedup of each solved turn (null counts as 0), -1 for failed ones
  double timing_noise = 0;  ///< std / mean of the candidate's time at t*
  double passed = 0;        ///< best share of tests passed in a turn that is no cheat
};

/// Rewards of the scorable rollouts of a group, [n]. `rank` sums to 0.
std::vector<double> rewards(const std::vector<Standing>& group, const RankOptions& options);

/// [n] -> [n]. Exactly 0 when n < 2, or when all rewards are equal and a baseline is asked for.
std::vector<double> advantages(const std::vector<double>& rewards, const RankOptions& options);

/// Advantage of each turn of a rollout with the advantage `b`, [turns].
std::vector<double> turn_credit(double b, std::size_t solved_at, std::size_t turns,
                                const RankOptions& options);

/// Sets every rollout's `reward` (null when unscorable) and every turn's `advantage`. Returns whether any
/// advantage is not 0. RecordError without verdicts.
bool rank(Json& record, const RankOptions& options);

/// Has a record been ranked?
bool is_ranked(const Json& record);

}  // namespace leap
