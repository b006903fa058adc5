/// Problems with their trials and what the reference says of them, kept for all candidates of a run.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "verify/kernel_build.hpp"
#include "verify/kernel_run.hpp"

namespace leap::verify::kernel {

/// Safe to use from several threads at once.
class Problem {
 public:
  /// RecordError where the check cannot be used.
  Problem(const Json& check, std::uint64_t key) : check_(read_check(check)), key_(key) {
    trials_.resize(check_.runs());
    wanted_.resize(check_.runs());
  }

  const Check& check() const { return check_; }
  /// Made when it is first asked for.
  const Trial& trial(std::size_t number);
  /// The reference's outputs, one an argument; null when they are not known yet.
  const std::vector<std::string>* wanted(std::size_t number);
  /// Runs the reference on the first `count` trials, in a sandbox of its own. What went wrong, or "".
  std::string find_wanted(std::size_t count, Workshop& workshop, Pool& judges);

  std::size_t bytes() const;

 private:
  std::string run_reference(const std::vector<std::size_t>& missing, Workshop& workshop, Pool& judges);

  Check check_;
  std::uint64_t key_;
  mutable std::mutex mutex_;  ///< of trials_ and wanted_, whose elements stay where they are once made
  std::mutex reference_mutex_;
  std::vector<std::unique_ptr<const Trial>> trials_;
  std::vector<std::unique_ptr<const std::vector<std::string>>> wanted_;
  std::optional<Program> reference_;
  std::string trouble_;
};

/// The problems used last, up to a bound on their bytes.
class Problems {
 public:
  std::shared_ptr<Problem> get(const Json& check, std::uint64_t seed, std::string_view id);

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<Problem>>> recent_;
};

}  // namespace leap::verify::kernel
