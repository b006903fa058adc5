/// A problem's tests of type `script`, run apart from the candidate that they call.
///
/// Theory. Tests of Python whose code cannot leave a trace in the interpreter (harness_tests.py, is_plain) are run
/// one after another in one process: a fork less a program. Only ends that are the rule count there: the
/// tests are through, an assertion does not hold, or the candidate raised. Anything else, and tests that are
/// not plain, is run in a process of its own, whose word is the last.
#pragma once

#include <string>

#include "verify/programs.hpp"

namespace leap::verify {

struct Script {
  std::string source;  ///< Python
  std::string call;    ///< the function of the tests that takes the candidate; may be empty
  std::string entry_point;
  Program native;  ///< C++: the tests' own program
};

class Tester {
 public:
  /// `judges`: sandboxes for code of problems, never for candidates.
  Tester(Pool& judges, const Script& script);

  /// Begins the tests; `limits` are the candidate's.
  void start(const sandbox::Limits& limits);
  /// The next message of the tests: `call`, or how they ended. False when there will be none.
  bool next(sandbox::Fields& message);
  /// The answer to a call.
  void send(const sandbox::Fields& message) { judge_.box().send(message); }
  /// The candidate is no more. `called`: the tests wait for its answer.
  void dismiss(bool called);
  /// They were broken off in a process that has run others: nothing is known, and the next start is of a
  /// process of their own.
  bool has_to_repeat() const { return repeat_; }
  const sandbox::Ended& ended() { return judge_.box().ended(); }
  /// After a fault.
  void renew() { judge_.renew(); }

 private:
  void start_alone();
  void end();

  Pool& judges_;
  const Script& script_;
  Lease judge_;
  sandbox::Limits limits_;
  bool alone_;  ///< in a process of their own
  bool repeat_ = false;
  bool called_ = false;  ///< the candidate, in this run
};

}  // namespace leap::verify
