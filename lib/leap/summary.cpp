#include "leap/summary.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "records/records.hpp"

namespace leap {
namespace {

using records::Outcome;
using records::RolloutOutcome;

double seconds_of(const Json& turn) {
  const Json* measured = records::find(turn.at("verdict"), "measured");
  double sum = 0;
  if (measured == nullptr) return sum;
  for (const char* name : {"compile_s", "wall_s"}) {
    const Json* value = records::find(*measured, name);
    if (value != nullptr && value->is_number()) sum += value->get<double>();
  }
  return sum;
}

std::uint64_t tokens_of(const Json& turn) {
  const Json* ids = records::find(turn, "completion_ids");
  return ids != nullptr && jsonl::is_array(*ids) ? jsonl::array_size(*ids) : 0;
}

bool is_flat(const Json& rollouts) {
  for (const Json& rollout : rollouts) {
    for (const Json& turn : rollout.at("turns")) {
      const Json* advantage = records::find(turn, "advantage");
      if (advantage == nullptr || !advantage->is_number() || advantage->get<double>() != 0) return false;
    }
  }
  return true;
}

/// 1 - C(n - c, k) / C(n, k): the chance that k of n rollouts, c of them solved, hold a solved one.
double pass_at(std::size_t k, std::size_t n, std::size_t c) {
  double none = 1;
  for (std::size_t i = 0; i < k; ++i) {
    if (n - c <= i) return 1;
    none *= static_cast<double>(n - c - i) / static_cast<double>(n - i);
  }
  return 1 - none;
}

Json ratio(double part, double whole) {
  return whole > 0 ? Json(part / whole) : Json(nullptr);
}

}  // namespace

void GroupSummary::add(const Json& record) {
  const std::vector<RolloutOutcome> outcomes = records::outcomes_of(record);
  const Json& rollouts = record.at("rollouts");
  const Json* group = records::find(record, "group");
  const std::string decision(group != nullptr ? records::text_of(*group, "decision") : "");

  const std::lock_guard lock(mutex_);
  ++groups_;
  rollouts_ += outcomes.size();
  if (is_flat(rollouts)) ++flat_;
  if (!decision.empty()) ++decisions_[decision];

  std::size_t n = 0;
  std::vector<std::size_t> solved_at;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const RolloutOutcome& outcome = outcomes[i];
    const Json& turns = rollouts[i].at("turns");
    turns_ += turns.size();
    longest_ = std::max(longest_, turns.size());
    for (const Json& turn : turns) {
      if (records::is_cheat(turn)) ++cheats_;
    }
    if (outcome.scorable()) ++n;
    if (outcome.solved()) solved_at.push_back(outcome.solved_at);

    if (outcome.turns.front() == Outcome::kSolved || outcome.unscorable()) continue;
    if (decision == "expand") {
      ++sent_on_;
      if (outcome.solved()) ++recovered_;
      for (std::size_t t = 1; t < turns.size(); ++t) {
        ++later_turns_;
        later_tokens_ += tokens_of(turns[t]);
        later_seconds_ += seconds_of(turns[t]);
      }
    } else if (decision == "easy" || decision == "hopeless") {
      ++stopped_;
    }
  }
  scorable_ += n;
  std::sort(solved_at.begin(), solved_at.end());
  ++results_[{n, std::move(solved_at)}];
}

Json GroupSummary::json() const {
  const std::lock_guard lock(mutex_);
  Json out = {{"groups", groups_}, {"rollouts", rollouts_}, {"scorable", scorable_},
              {"turns", turns_},   {"flat_groups", flat_},  {"cheats", cheats_}};

  // The mean over all groups with enough scorable rollouts of f(n, solved_at).
  const auto mean = [&](std::size_t at_least, const auto& f) {
    double sum = 0, groups = 0;
    for (const auto& [result, count] : results_) {
      if (result.first < at_least) continue;
      sum += static_cast<double>(count) * f(result.first, result.second);
      groups += static_cast<double>(count);
    }
    return ratio(sum, groups);
  };
  Json acc = Json::array();
  for (std::size_t t = 1; t <= longest_; ++t) {
    acc.push_back(mean(1, [t](std::size_t n, const std::vector<std::size_t>& solved_at) {
      const auto c = std::upper_bound(solved_at.begin(), solved_at.end(), t) - solved_at.begin();
      return static_cast<double>(c) / static_cast<double>(n);
    }));
  }
  out["acc"] = acc;

  const std::size_t largest = results_.empty() ? 0 : results_.rbegin()->first.first;
  Json pass = Json::object();
  for (std::size_t k = 1; k <= largest; k *= 2) {
    pass[std::to_string(k)] = mean(k, [k](std::size_t n, const std::vector<std::size_t>& solved_at) {
      return pass_at(k, n, solved_at.size());
    });
  }
  out["pass"] = pass;

  double decided = 0;
  Json decisions = {{"expand", 0}, {"easy", 0}, {"hopeless", 0}};
  for (const auto& [name, count] : decisions_) {
    decisions[name] = count;
    decided += static_cast<double>(count);
  }
  out["decisions"] = decisions;
  out["expanded"] = ratio(decisions["expand"].get<double>(), decided);
  out["recovery"] = ratio(static_cast<double>(recovered_), static_cast<double>(sent_on_));

  const auto saved = [&](double later) {
    return later_turns_ == 0 ? Json(nullptr)
                             : Json(static_cast<double>(stopped_) * later / static_cast<double>(sent_on_));
  };
  out["saved"] = {{"rollouts", stopped_},
                  {"turns", saved(static_cast<double>(later_turns_))},
                  {"tokens", saved(static_cast<double>(later_tokens_))}};
  out["measured"] = {{"saved_seconds", saved(later_seconds_)}};
  return out;
}

}  // namespace leap
