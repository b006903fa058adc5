/// Figures of decompositions, a line and over many lines: sizes, what could not be read, variety, and solve
/// rate against tokens beside that of plain rollouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "jsonl/json.hpp"

namespace leap::decomp {

/// A problem's attempts in their order: after each, the tokens so far, and whether any was solved yet.
struct Attempts {
  std::vector<std::uint64_t> tokens;
  std::vector<bool> solved;
};

class Diagnostics {
 public:
  /// Of one record, as `diagnostics` of the line: decompositions, unparsed, mean_functions (of those that
  /// were parsed), mean_functions_used (of those where it is known), single (parsed, one function),
  /// single_used (one that is used, where known), implementations, distinct_implementations (different texts,
  /// by function), tokens, solved, and `rollouts` {count, solved, tokens} where there are verified ones.
  static Json line(const Json& record);

  /// Counts a record. Any thread; the result does not depend on the order.
  void add(const Json& record);

  /// The same over all records, with shares; `solve_rate`: a list with one entry a number m of attempts,
  /// {attempts, tokens (mean a problem), rate (share of the problems solved by the first m)}, for
  /// decompositions and, as `rollouts`, for plain ones. `format_tax`: rate of the rollouts less that of the
  /// decompositions, at the most tokens that both have, over the problems that have both (null: none).
  Json json() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t decompositions_ = 0, unparsed_ = 0, single_ = 0, functions_ = 0;
  std::uint64_t used_known_ = 0, used_ = 0, single_used_ = 0;
  std::uint64_t implementations_ = 0, distinct_ = 0, tokens_ = 0, trivial_ = 0;
  std::vector<Attempts> attempts_, rollouts_;  ///< one entry a record; empty where it has none
};

}  // namespace leap::decomp
