/// Is a problem sound? Programs that do nothing of what it asks must fail it, its own solution must pass.
#pragma once

#include "jsonl/json.hpp"
#include "verify/verify.hpp"

namespace leap::verify {

/// Adds `lint` {gameable, passed_by} to a record: which of an empty program, one with a constant answer and
/// one that echoes its input pass all tests; with a `task.solution`, also `solution`, the status of the worse
/// of two runs of it. `error` says why tests cannot be run at all.
void lint(Verifier& verifier, Json& record);

}  // namespace leap::verify
