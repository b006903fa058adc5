/// The limits that a task sets for its programs.
#pragma once

#include <string>

#include "jsonl/json.hpp"
#include "sandbox/box.hpp"

namespace leap::verify {

/// The member `name` of `object`, `otherwise` where it is absent or null. RecordError, naming `where`, when
/// it is no number or below 0.
double number_of(const Json& object, const char* name, double otherwise, const std::string& where);

/// `task.limits`, with the defaults for what it leaves out. RecordError when a limit cannot be one.
sandbox::Limits limits_of(const Json& task);

/// Limits of code that belongs to the problem.
sandbox::Limits judge_limits(const sandbox::Limits& candidate);

}  // namespace leap::verify
