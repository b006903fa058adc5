#include "verify/summary.hpp"

#include "records/records.hpp"

namespace leap::verify {

void Summary::add(const Json& record) {
  const Json* rollouts = records::find(record, "rollouts");
  if (rollouts == nullptr || !rollouts->is_array()) return;
  const std::lock_guard lock(mutex_);
  for (const Json& rollout : *rollouts) {
    const Json* turns = records::find(rollout, "turns");
    if (turns == nullptr || !turns->is_array()) continue;
    for (const Json& turn : *turns) {
      const Json* verdict = records::find(turn, "verdict");
      if (verdict == nullptr) continue;
      ++turns_;
      ++statuses_[std::string(records::text_of(*verdict, "status"))];
      if (records::is_solved(turn)) ++solved_;
      if (records::is_cheat(turn)) ++cheats_;
      const Json* flags = records::find(*verdict, "flags");
      if (flags != nullptr && flags->is_array()) {
        for (const Json& flag : *flags) {
          if (flag.is_string()) ++flags_[flag.get<std::string>()];
        }
      }
      const Json* measured = records::find(*verdict, "measured");
      for (const char* name : {"compile_s", "cpu_s", "wall_s"}) {
        const Json* value = measured != nullptr ? records::find(*measured, name) : nullptr;
        if (value != nullptr && value->is_number()) seconds_[name] += value->get<double>();
      }
    }
  }
}

Json Summary::json() const {
  const std::lock_guard lock(mutex_);
  Json out = {{"turns", turns_}, {"solved", solved_}, {"cheats", cheats_}};
  out["statuses"] = Json::object();
  for (const auto& [name, count] : statuses_) out["statuses"][name] = count;
  out["flags"] = Json::object();
  for (const auto& [name, count] : flags_) out["flags"][name] = count;
  out["measured"] = Json::object();
  for (const auto& [name, sum] : seconds_) out["measured"][name] = sum;
  return out;
}

}  // namespace leap::verify
