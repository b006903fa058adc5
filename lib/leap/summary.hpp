/// The figures of a LEAP run over many groups, for --summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jsonl/json.hpp"

namespace leap {

class GroupSummary {
 public:
  /// Counts one verified record. Any thread; the result does not depend on the order (except `measured`).
  void add(const Json& record);

  /// `acc`: [T] mean over the groups of the share of scorable rollouts solved by turn t. `pass`: {"k": mean
  /// over the groups with k scorable rollouts of 1 - C(n-c, k) / C(n, k)}. `expanded`: share of the decided
  /// groups. `recovery`: share of the rollouts sent on that were solved later. `saved`: against always
  /// expanding, estimated as the rollouts stopped as easy or hopeless times the later turns (tokens, seconds)
  /// an expanded one took here; null where none was expanded.
  Json json() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t groups_ = 0, rollouts_ = 0, scorable_ = 0, turns_ = 0, flat_ = 0, cheats_ = 0;
  /// (scorable rollouts, sorted turns at which some were solved) -> groups
  std::map<std::pair<std::size_t, std::vector<std::size_t>>, std::uint64_t> results_;
  std::size_t longest_ = 0;
  std::map<std::string, std::uint64_t> decisions_;
  std::uint64_t sent_on_ = 0, recovered_ = 0, stopped_ = 0;
  std::uint64_t later_turns_ = 0, later_tokens_ = 0;
  double later_seconds_ = 0;
};

}  // namespace leap
