/// Runs of programs on single tests: each becomes a Result, a status with what is known of its cause.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/compare.hpp"
#include "verify/programs.hpp"
#include "verify/tester.hpp"

namespace leap::verify {

struct Result {
  std::string status = "ok";
  int exit_code = -1;  ///< where the program ended by itself
  int signal = 0;
  bool by_wall = false;  ///< timeout: it was the wall's limit that ended it
  bool cheat = false;
  bool harness = false;  ///< counted as the candidate's failure after the harness failed twice
  double cpu_s = 0, wall_s = 0, max_rss_mb = 0;
  std::string error_type;     ///< a built-in exception's name
  int error_line = 0;         ///< line of the program, from 1; 0 when unknown
  std::string error_message;  ///< may carry input: only for public cases
  std::string got;            ///< the same; shortened
  std::string note;           ///< what was wrong, free of input
  double compile_s = -1;      ///< where it was compiled in the same process; less than 0: it was not
  std::string report;         ///< the content of Job::report
};

/// Runs one program's cases in one warm sandbox. Errors in the text of one that isn't compiled yet are only
/// told by script_from_source.
class Runner {
 public:
  /// `judges`: sandboxes for tests and checkers, never for candidates.
  Runner(Pool& candidates, Pool& judges, const Program& program, const sandbox::Limits& limits);

  /// One test of a program, as it is given to the sandbox.
  struct Job {
    bool call = false;
    std::string input;                      ///< stdin
    std::string entry_point, args, kwargs;  ///< a call by value
    std::string name{};                     ///< stdin: argv[0], where it is not the usual one
    std::string report{};                   ///< stdin: a file that is read when it has ended; no `next` then
  };
  /// stdin -> stdout, or a call. `got` of the result is the whole output, or the answer's marshal. `next`, if
  /// given, is what the next call will ask for: it is started before this one's result is looked at.
  Result run(const Job& job, const Job* next);
  /// The next test is another program's: what timed out before says nothing of it.
  void forget() { timed_out_ = false; }
  Result script(const Script& script);
  /// The same of a program that is not compiled yet: one process less. Nothing where compiled code has to be
  /// run to know the result.
  std::optional<Result> script_from_source(const Script& script);
  /// Tests in the candidate's own process: Python with the tests kept, C++ compiled in.
  Result script_together(const Script& script);

 private:
  Result run_once(const Job& job, const Job* next, const sandbox::Limits& limits);
  void start(const Job& job, const sandbox::Limits& limits);
  /// Takes back what was started before its time.
  void drop_ahead();
  std::optional<Result> script_once(const Script& script, const sandbox::Limits& limits, Tester& tester);
  Result together_once(const Script& script, const sandbox::Limits& limits);
  /// Starts the program as a server of calls by tests: answers keep Python's tuples, sets and bytes apart.
  void start_server(const std::string& entry_point, const sandbox::Limits& limits);
  /// Waits for it. True when it is ready, else `result` says why not.
  bool is_serving(const std::string& entry_point, Result& result);
  /// Turns how it ended into a status; `complete`: it did all that it had to.
  void judge_end(const sandbox::Ended& ended, bool complete, Result& result) const;
  void read_error(const sandbox::Fields& message, std::size_t first, Result& result) const;
  template <class Once>
  Result steady(const Once& once);

  Pool& candidates_;
  Pool& judges_;
  const Program& program_;
  sandbox::Limits limits_;
  Lease lease_;
  bool ahead_ = false;      ///< the next test has been started
  bool timed_out_ = false;  ///< a case clearly exceeded the CPU limit: later ones get no second try
};

/// Known-good code in a sandbox of its own: does the harness work at all?
bool sandbox_works(const Pool& pool);

enum class Checked { kAccepted, kWrong, kBroken };

/// Runs a problem's checker on files input, output and answer.
Checked run_checker(Pool& judges, const Program& checker, const std::string& input, const std::string& output,
                    const std::string& answer);

}  // namespace leap::verify
