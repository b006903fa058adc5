#include "sampling/plan.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "records/records.hpp"

namespace leap::sampling {
namespace {

/// The rollouts that get a turn, with their number of turns so far.
struct Open {
  std::size_t rollout;
  std::size_t turns;
};

const Json* rollouts_of(const Json& record) {
  const Json* rollouts = records::find(record, "rollouts");
  if (rollouts == nullptr || rollouts->is_null()) return nullptr;
  if (!rollouts->is_array()) throw RecordError("rollouts: must be an array");
  return rollouts->empty() ? nullptr : rollouts;
}

std::vector<Open> open_rollouts(const Json& rollouts) {
  std::vector<Open> open;
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    const Json& rollout = rollouts[i];
    const std::string where = "rollouts[" + std::to_string(i) + "]";
    if (!rollout.is_object()) throw RecordError(where + ": must be an object");
    const Json* state = records::find(rollout, "state");
    if (state != nullptr && !state->is_null() && *state != "open") continue;
    const Json* turns = records::find(rollout, "turns");
    if (turns != nullptr && !turns->is_null() && !turns->is_array())
      throw RecordError(where + ".turns: must be an array");
    const std::size_t count = turns == nullptr || turns->is_null() ? 0 : turns->size();
    if (count > 0) {
      const Json* verdict = records::find(turns->back(), "verdict");
      if (verdict == nullptr || !verdict->is_object()) continue;
    }
    open.push_back({i, count});
  }
  return open;
}

Request request_of(Prompt prompt) {
  Request request;
  request.prompt_ids = std::move(prompt.ids);
  request.prompt = std::move(prompt.text);
  return request;
}

}  // namespace

bool wants_turns(const Json& record) {
  const Json* rollouts = rollouts_of(record);
  return rollouts == nullptr || !open_rollouts(*rollouts).empty();
}

Plan plan_turns(const Json& record, std::uint64_t rollouts, std::uint64_t seed, const Prompts& prompts) {
  Plan plan;
  const Json* existing = rollouts_of(record);
  if (existing == nullptr) {
    const std::string id = records::required_id(record);
    Request request = request_of(prompts.first(record));
    for (std::uint64_t i = 0; i < rollouts; ++i) request.keys.push_back(draw_key(seed, id, i, 0));
    plan.requests.push_back(std::move(request));
    plan.attach = [](Json& target, std::vector<std::vector<Json>> results) {
      Json made = Json::array();
      for (Json& turn : results[0])
        made.push_back(Json{{"turns", Json::array({std::move(turn)})}, {"state", "open"}});
      target["rollouts"] = std::move(made);
    };
    return plan;
  }

  std::vector<Open> open = open_rollouts(*existing);
  for (const Open& one : open) {
    const std::string id = records::required_id(record);
    const Json& rollout = (*existing)[one.rollout];
    Request request;
    try {
      request = request_of(one.turns == 0 ? prompts.first(record) : prompts.later(record, rollout));
    } catch (const RecordError& e) {
      throw RecordError("rollouts[" + std::to_string(one.rollout) + "]: " + e.what());
    }
    request.keys.push_back(draw_key(seed, id, one.rollout, one.turns));
    plan.requests.push_back(std::move(request));
  }
  plan.attach = [open = std::move(open)](Json& target, std::vector<std::vector<Json>> results) {
    for (std::size_t k = 0; k < open.size(); ++k) {
      Json& rollout = target["rollouts"][open[k].rollout];
      Json& turns = rollout["turns"];
      if (!turns.is_array()) turns = Json::array();
      turns.push_back(std::move(results[k][0]));
    }
  };
  return plan;
}

}  // namespace leap::sampling
