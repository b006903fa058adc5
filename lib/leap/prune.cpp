#include "leap/prune.hpp"

#include <charconv>
#include <functional>

#include "base/error.hpp"
#include "records/code.hpp"
#include "records/records.hpp"

namespace leap {
namespace {

using records::Outcome;
using records::RolloutOutcome;

const char* name(Decision decision) {
  switch (decision) {
    case Decision::kExpand:
      return "expand";
    case Decision::kEasy:
      return "easy";
    case Decision::kHopeless:
      return "hopeless";
  }
  return "";
}

/// Are the last `stall` + 1 turns all there, with one and the same text? `text_of` gives nothing for a turn
/// without.
bool unchanged(const Json& turns, std::size_t stall,
               const std::function<std::optional<std::string>(const Json&)>& text_of) {
  if (turns.size() < stall + 1) return false;
  const std::optional<std::string> last = text_of(turns.back());
  if (!last) return false;
  for (std::size_t t = turns.size() - stall - 1; t + 1 < turns.size(); ++t) {
    if (text_of(turns[t]) != last) return false;
  }
  return true;
}

bool stalled(const Json& turns, const Json& task, std::size_t stall) {
  const auto code = [&](const Json& turn) -> std::optional<std::string> {
    if (records::find(turn, "code") == nullptr && records::find(turn, "completion") == nullptr)
      return std::nullopt;
    return records::code_of(turn, task);
  };
  const auto feedback = [](const Json& turn) -> std::optional<std::string> {
    const Json* text = records::find(turn.at("verdict"), "feedback");
    if (text == nullptr || !text->is_string()) return std::nullopt;
    return text->get<std::string>();
  };
  return unchanged(turns, stall, code) || unchanged(turns, stall, feedback);
}

}  // namespace

Threshold Threshold::parse(const std::string& option, const std::string& text) {
  Threshold threshold;
  threshold.fraction = text.find('.') != std::string::npos;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, threshold.value, std::chars_format::fixed);
  if (code != std::errc{} || stop != end || text.find_first_not_of("0123456789.") != std::string::npos) {
    throw UsageError(option + " " + text + ": must be a count (4) or a fraction with a decimal point (0.5)");
  }
  if (threshold.fraction && !(threshold.value <= 1)) {
    throw UsageError(option + " " + text + ": a fraction is at most 1.0 (a count has no decimal point)");
  }
  return threshold;
}

Decision decide(std::size_t n, std::size_t failed, const PruneOptions& options) {
  if (n < 2) return n == 1 && failed == 0 ? Decision::kEasy : Decision::kHopeless;
  const auto failures = static_cast<double>(failed);
  if (failures < options.easy_below.of(n) - options.easy_below.slack()) return Decision::kEasy;
  const Threshold hopeless = options.hopeless_above.value_or(Threshold{static_cast<double>(n - 1), false});
  if (failures > hopeless.of(n) + hopeless.slack()) return Decision::kHopeless;
  return Decision::kExpand;
}

void prune(Json& record, const PruneOptions& options) {
  const std::vector<RolloutOutcome> outcomes = records::outcomes_of(record);
  std::size_t scorable = 0, failed = 0;
  for (const RolloutOutcome& rollout : outcomes) {
    if (rollout.turns.front() != Outcome::kUnscorable) ++scorable;
    if (rollout.turns.front() == Outcome::kFailed) ++failed;
  }
  const Decision decision = decide(scorable, failed, options);

  Json* group = records::find(record, "group");
  if (group != nullptr && !group->is_object()) throw RecordError("group: must be an object");
  Json& facts = record["group"];
  facts["size"] = outcomes.size();
  facts["scorable"] = scorable;
  facts["failed_first"] = failed;
  facts["decision"] = name(decision);

  const Json* task = records::find(record, "task");
  Json& rollouts = record["rollouts"];
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    Json& rollout = rollouts[i];
    const Json& turns = rollout["turns"];
    const char* reason = nullptr;
    if (!outcomes[i].solved()) {
      if (outcomes[i].unscorable()) {
        reason = "unscorable";
      } else if (decision != Decision::kExpand) {
        reason = name(decision);
      } else if (turns.size() >= options.max_turns) {
        reason = "turn_limit";
      } else if (options.stall > 0 &&
                 stalled(turns, task != nullptr ? *task : Json(nullptr), options.stall)) {
        reason = "stalled";
      }
    }
    rollout["state"] = outcomes[i].solved() ? "solved" : reason != nullptr ? "stopped" : "open";
    if (reason != nullptr) {
      rollout["stop_reason"] = reason;
    } else {
      rollout.erase("stop_reason");
    }
  }
}

bool is_pruned(const Json& record) {
  const Json* group = records::find(record, "group");
  const Json* rollouts = records::find(record, "rollouts");
  if (group == nullptr || records::text_of(*group, "decision").empty()) return false;
  if (rollouts == nullptr || !rollouts->is_array()) return false;
  for (const Json& rollout : *rollouts) {
    if (records::text_of(rollout, "state").empty()) return false;
  }
  return true;
}

}  // namespace leap
