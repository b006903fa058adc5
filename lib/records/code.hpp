/// The code of a turn: what is taken out of a completion, and how a problem's starter completes it.
#pragma once

#include <string>
#include <string_view>

#include "jsonl/json.hpp"

namespace leap::records {

/// A program as it is run. Lines `added_at + 1 .. added_at + added` (from 1) are the starter's imports, not
/// the candidate's own.
struct Code {
  std::string text;
  int added_at = 0;
  int added = 0;

  /// The line of the candidate's own text that `line` of `text` is; 0 for an added one.
  int own_line(int line) const;
};

/// The program of a turn: its `code`, else what `extract` finds in `completion`; completed by the task's
/// `starter`. Empty text: the turn has no code.
Code code_of_turn(const Json& turn, const Json& task);
std::string code_of(const Json& turn, const Json& task);

/// Out of a completion, thoughts dropped: the last closed fenced block (of those tagged with `language`, if
/// any), else an unclosed fence to its end, else everything up to an orphan closing fence.
std::string extract(std::string_view completion, std::string_view language);

/// `code` preceded by the starter's import statements that it lacks where it defines the task's `entry_point`
/// (or there is none), else by the whole `starter`.
Code with_starter(std::string code, const Json& task);

/// Does `code` define `name` at its top level, or as a method of a class Solution?
bool defines(std::string_view code, std::string_view name, std::string_view language);

/// C or C++ text with comments and literals blanked, of the same length and lines.
std::string blank_literals(std::string_view code);

}  // namespace leap::records
