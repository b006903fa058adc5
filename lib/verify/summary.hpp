/// Counts of verdicts over many records, for --summary.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "jsonl/json.hpp"

namespace leap::verify {

class Summary {
 public:
  /// Counts the verdicts of a record's turns, new and old. Any thread.
  void add(const Json& record);

  /// {turns, solved, cheats, statuses: {status: count}, flags: {flag: count}, measured: {cpu_s, wall_s,
  /// compile_s}}.
  Json json() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t turns_ = 0, solved_ = 0, cheats_ = 0;
  std::map<std::string, std::uint64_t> statuses_, flags_;
  std::map<std::string, double> seconds_;
};

}  // namespace leap::verify
