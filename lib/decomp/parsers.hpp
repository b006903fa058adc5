/// The languages' own grammars, in sandboxes: split_python.py and split_cpp.py answer what is asked of code.
#pragma once

#include <string>

#include "jsonl/json.hpp"
#include "sandbox/box.hpp"
#include "verify/programs.hpp"

namespace leap::decomp {

/// Warm sandboxes, one kind a language. Thread-safe.
class Parsers {
 public:
  explicit Parsers(sandbox::Mode mode);

  /// What the child answers; null when the code was too much for it. Error when there is no sandbox or no
  /// parser, or the parser does not work.
  Json ask(const std::string& language, const Json& request);

 private:
  verify::Pool python_, cpp_;
};

/// The task's language, python when it says none. RecordError for one that is not decomposed.
std::string language_of(const Json& task);

/// The record's task, an empty object when it has none.
const Json& task_of(const Json& record);

}  // namespace leap::decomp
