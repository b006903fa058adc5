/// Completions taken apart into decompositions: functions to implement, what stands before and after them, or
/// an error that says what is wrong and where.
///
/// A decomposition's code is its `code`, else what is extracted from its `completion`. A function without a
/// body (Python: `...`, `pass`, only a docstring; C++: a declaration) is one to implement; where all have
/// bodies, these are dropped, but for main's. It is valid when it parses, has 1 to max_functions such
/// functions with different names and each with a docstring (C++: a comment above), no circle of functions
/// that call each other by their docstrings unless one of these speaks of recursion, and an entry point:
/// `main` or statements for the check stdio, else the task's entry_point.
/// Python is read by the ast module, C++ by libclang, each in a child of a sandbox.
#pragma once

#include <memory>

#include "jsonl/json.hpp"
#include "sandbox/box.hpp"

namespace leap::decomp {

struct SplitOptions {
  sandbox::Mode sandbox = sandbox::Mode::kAuto;
  int max_functions = 6;
  bool from_rollouts = false;  ///< rollouts that define the same functions become decompositions
};

class Parsers;

/// Thread-safe.
class Splitter {
 public:
  explicit Splitter(SplitOptions options);
  ~Splitter();

  /// Splits every decomposition that has neither functions nor an error. RecordError when the record has not
  /// the shape that leap-records(5) gives; Error when there is no sandbox.
  void split(Json& record);

 private:
  SplitOptions options_;
  std::unique_ptr<Parsers> parsers_;
};

/// Has split() nothing left to do?
bool is_split(const Json& record, const SplitOptions& options);

}  // namespace leap::decomp
