/// The errors of all rooms, and the exit statuses they become.
#pragma once

#include <stdexcept>
#include <string>

namespace leap {

/// Exit statuses every tool shares. After SIGINT/SIGTERM a tool exits with 128 + the signal's number.
enum ExitStatus : int {
  kExitOk = 0,          ///< every record was processed (a candidate that fails is data)
  kExitSomeFailed = 1,  ///< finished, but --keep-going passed some records on unprocessed
  kExitUsage = 2,       ///< wrong command line
  kExitStopped = 3,     ///< stopped: bad record, I/O, model or sandbox unavailable
};

/// Stops the tool (exit 3). The message is one line that says what is wrong and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A command line or option value nobody can act on (exit 2).
class UsageError : public Error {
 public:
  using Error::Error;
};

/// One record cannot be processed: stops the tool, or with --keep-going only passes the record on unchanged.
/// The message names the field, e.g. "rollouts[2].turns[0].verdict: missing; run leap-verify first".
class RecordError : public Error {
 public:
  using Error::Error;
};

/// `what: strerror(errno)` as an Error.
[[noreturn]] void throw_errno(const std::string& what);

}  // namespace leap
