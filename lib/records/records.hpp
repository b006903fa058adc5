/// The known fields of a record (leap-records(5)): reading them with messages that name the field, and what a
/// verdict means. Unknown fields are nobody's business and stay.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jsonl/json.hpp"

namespace leap::records {

inline constexpr int kVersion = 1;

/// RecordError when `v` is higher than kVersion.
void check_version(const Json& record);

/// The id as text, "" when absent.
std::string id_of(const Json& record);
/// The same, and RecordError when it is absent or empty.
std::string required_id(const Json& record);

/// The member `name` of `object`, or null when it is absent or `object` is no object.
const Json* find(const Json& object, std::string_view name);
Json* find(Json& object, std::string_view name);
/// The member as text, or "" when it is absent or no string.
std::string_view text_of(const Json& object, std::string_view name);

enum class Outcome { kSolved, kFailed, kUnscorable };

/// What a verdict says of its turn. `cheat` true is failed whatever the status. RecordError (starting with
/// `where`) without a status.
Outcome outcome_of(const Json& turn, const std::string& where);

/// Was the code of this turn caught cheating? Such a turn is failed whatever its status.
bool is_cheat(const Json& turn);
/// Is the turn solved? False without a verdict.
bool is_solved(const Json& turn);

/// A status that says the harness failed, not the code (verification.md's taxonomy).
bool is_unscorable(std::string_view status);

/// The verdicts of one rollout.
struct RolloutOutcome {
  std::vector<Outcome> turns;
  std::size_t solved_at = 0;  ///< t*: the first solved turn, from 1; 0 when none

  bool solved() const { return solved_at > 0; }
  bool unscorable() const { return !solved() && turns.back() == Outcome::kUnscorable; }
  bool scorable() const { return !unscorable(); }
};

/// The verdicts of all rollouts of a record. RecordError when there are no rollouts, a rollout without turns
/// or a turn without a verdict's status.
std::vector<RolloutOutcome> outcomes_of(const Json& record);

}  // namespace leap::records
