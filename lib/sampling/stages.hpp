/// The two stages of DecompRL: decompositions of a problem, and implementations of their functions; what a
/// record still wants of each, and the prompts.
///
/// A prompt is made from a template, a text with placeholders: {problem} {language} {entry_point}
/// {max_functions}, and for implementations {stubs} (the decomposition without what was sampled of it),
/// {name} and {target} (the stub of the function that is wanted). A line that begins with "@stdin " is kept
/// only for problems with the check `stdio`, one with "@call " only for others. The filled-in text takes the
/// place of a string prompt, or of the content of the last user's message.
#pragma once

#include <cstdint>
#include <string>

#include "jsonl/json.hpp"
#include "sampling/plan.hpp"
#include "sampling/prompts.hpp"

namespace leap::sampling {

enum class Stage { kTurns, kDecompose, kImplement };

struct StageOptions {
  Stage stage = Stage::kTurns;
  std::string form;       ///< the template; "" for the built-in one of the task's language
  int max_functions = 6;  ///< what a decomposition is asked for
};

/// Is there anything to sample: no decompositions yet; functions without implementations in decompositions
/// without an error; for kTurns as wants_turns()? RecordError when the record's shape does not say.
bool wants(const Json& record, Stage stage);

/// `count` decompositions, implementations a function or rollouts. RecordError when the record cannot be
/// sampled.
Plan plan_of(const Json& record, const StageOptions& options, std::uint64_t count, std::uint64_t seed,
             const Prompts& prompts);

/// The text that a policy is shown of a decomposition: its preamble, the stubs, its main.
std::string stubs_of(const Json& decomposition, const std::string& language);

}  // namespace leap::sampling
