#include "records/records.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace leap::records {

void check_version(const Json& record) {
  const Json* version = find(record, "v");
  if (version == nullptr) return;
  if (!version->is_number_integer()) throw RecordError("v: must be an integer");
  if (version->get<std::int64_t>() > kVersion) {
    throw RecordError("v: " + jsonl::dump(*version) + " is newer than this tool knows (" +
                      std::to_string(kVersion) + "); use a newer leaptools");
  }
}

std::string id_of(const Json& record) {
  const Json* id = find(record, "id");
  if (id == nullptr) return "";
  return id->is_string() ? id->get<std::string>() : jsonl::dump(*id);
}

std::string required_id(const Json& record) {
  std::string id = id_of(record);
  if (id.empty()) throw RecordError("id: missing; every record needs one of its own");
  return id;
}

const Json* find(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) {
    if (key == name) return &value;
  }
  return nullptr;
}

Json* find(Json& object, std::string_view name) {
  return const_cast<Json*>(find(static_cast<const Json&>(object), name));
}

std::string_view text_of(const Json& object, std::string_view name) {
  const Json* member = find(object, name);
  return member != nullptr && member->is_string() ? std::string_view(member->get_ref<const std::string&>())
                                                  : std::string_view();
}

bool is_unscorable(std::string_view status) {
  static constexpr std::array<std::string_view, 5> kUnscorable = {
      "skipped", "problem_error", "reference_error", "harness_error", "device_unavailable"};
  return std::find(kUnscorable.begin(), kUnscorable.end(), status) != kUnscorable.end();
}

bool is_cheat(const Json& turn) {
  const Json* verdict = find(turn, "verdict");
  const Json* cheat = verdict != nullptr ? find(*verdict, "cheat") : nullptr;
  return cheat != nullptr && *cheat == true;
}

bool is_solved(const Json& turn) {
  const Json* verdict = find(turn, "verdict");
  return verdict != nullptr && text_of(*verdict, "status") == "ok" && !is_cheat(turn);
}

Outcome outcome_of(const Json& turn, const std::string& where) {
  const Json* verdict = find(turn, "verdict");
  if (verdict == nullptr) throw RecordError(where + ".verdict: missing; run leap-verify first");
  const std::string_view status = text_of(*verdict, "status");
  if (status.empty()) throw RecordError(where + ".verdict.status: missing or no text; run leap-verify first");
  if (is_solved(turn)) return Outcome::kSolved;
  if (is_cheat(turn)) return Outcome::kFailed;
  return is_unscorable(status) ? Outcome::kUnscorable : Outcome::kFailed;
}

std::vector<RolloutOutcome> outcomes_of(const Json& record) {
  const Json* rollouts = find(record, "rollouts");
  if (rollouts == nullptr || !rollouts->is_array() || rollouts->empty()) {
    throw RecordError("rollouts: missing, empty or no array; run leap-sample and leap-verify first");
  }
  std::vector<RolloutOutcome> outcomes;
  for (std::size_t i = 0; i < rollouts->size(); ++i) {
    const std::string where = "rollouts[" + std::to_string(i) + "]";
    const Json* turns = find((*rollouts)[i], "turns");
    if (turns == nullptr || !turns->is_array() || turns->empty()) {
      throw RecordError(where + ".turns: missing, empty or no array; run leap-sample first");
    }
    RolloutOutcome rollout;
    for (std::size_t t = 0; t < turns->size(); ++t) {
      rollout.turns.push_back(outcome_of((*turns)[t], where + ".turns[" + std::to_string(t) + "]"));
      if (rollout.solved_at == 0 && rollout.turns.back() == Outcome::kSolved) rollout.solved_at = t + 1;
    }
    outcomes.push_back(std::move(rollout));
  }
  return outcomes;
}

}  // namespace leap::records
