/// Runs the trials of a program made by the workshop and brings back bytes and reports; nothing is judged
/// here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify/kernel_trials.hpp"
#include "verify/programs.hpp"

namespace leap::verify::kernel {

/// What the runtime found.
struct Report {
  std::string kind;  ///< a status, or a word that only informs
  int line = 0;      ///< of the candidate's text, 0 when unknown
  std::string kernel, message;
};

/// What came of one trial. An index is an argument's; -1: none.
struct TrialRun {
  bool done = false;  ///< the driver said so; else the process ended in it
  std::vector<Report> reports;
  std::vector<std::string> outputs;                        ///< one an argument, empty for what is no output
  std::vector<std::pair<std::size_t, std::string>> again;  ///< outputs of later calls that have other bytes
  long launches = 0, launches_of_none = 0;
  int host_wrote = -1, mutated = -1, guard = -1;
  long mutated_at = 0;
  bool guard_behind = false, threw = false;
};

struct Run {
  std::vector<TrialRun> trials;  ///< those that were begun
  sandbox::Ended ended;
  bool lost = false;  ///< the sandbox failed
};

struct RunSettings {
  unsigned order = 0;
  unsigned workers = 1;
  int arch = 80;
  int memory_mb = 0;
  sandbox::Limits limits;
  /// Calls beyond the first, for trial number i; none where it is shorter.
  std::vector<int> more_calls;
};

/// `go_on` sees each trial when it is done and says whether the next one is to be run. Throws sandbox::Fault.
Run run_trials(Lease& lease, const Check& check, const std::vector<const Trial*>& trials,
               const RunSettings& settings, const std::function<bool(const TrialRun&)>& go_on);

}  // namespace leap::verify::kernel
