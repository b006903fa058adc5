#include "leap/rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "records/records.hpp"

namespace leap {
namespace {

using records::Outcome;
using records::RolloutOutcome;

double number_of(const Json* object, std::string_view name) {
  const Json* value = object != nullptr ? records::find(*object, name) : nullptr;
  return value != nullptr && value->is_number() ? value->get<double>() : 0.0;
}

Standing standing_of(const Json& turns, const RolloutOutcome& outcome) {
  Standing standing;
  standing.solved_at = outcome.solved_at;
  for (std::size_t t = 0; t < turns.size(); ++t) {
    const Json& verdict = turns[t].at("verdict");
    const Json* measured = records::find(verdict, "measured");
    const bool solved = outcome.turns[t] == Outcome::kSolved;
    standing.solved_speedups.push_back(solved ? number_of(measured, "speedup") : -1);
    const double total = number_of(&verdict, "total");
    if (total > 0 && !records::is_cheat(turns[t])) {
      standing.passed = std::max(standing.passed, number_of(&verdict, "passed") / total);
    }
    if (t + 1 == outcome.solved_at && measured != nullptr) {
      const Json* time = records::find(*measured, "candidate_us");
      const double mean = number_of(time, "mean");
      if (mean > 0) standing.timing_noise = number_of(time, "std") / mean;
    }
  }
  return standing;
}

/// What a gains against b under `rank`: 1 beats, -1 is beaten, 0.5 and -0.5 inside an equal key.
double comparison(const Standing& a, const Standing& b, const RankOptions& options) {
  // The key T + 1 - t* falls with t*; a failure's 0 is below every solve's.
  if (a.solved_at != b.solved_at) {
    if (a.solved_at == 0) return -1;
    if (b.solved_at == 0) return 1;
    return a.solved_at < b.solved_at ? 1 : -1;
  }
  if (a.solved_at == 0) {
    if (!options.partial || a.passed == b.passed) return 0;
    return a.passed > b.passed ? 0.5 : -0.5;
  }
  if (!options.by_speed) return 0;
  const double margin = 1 + std::max({0.05, a.timing_noise, b.timing_noise});
  const double speed_a = a.solved_speedups[a.solved_at - 1], speed_b = b.solved_speedups[b.solved_at - 1];
  if (speed_a > margin * speed_b) return 0.5;
  if (speed_b > margin * speed_a) return -0.5;
  return 0;
}

double kevin_reward(const Standing& standing, double gamma) {
  double sum = 0, weight = 1;
  for (double speedup : standing.solved_speedups) {
    if (speedup >= 0) sum += weight * (0.3 + speedup);
    weight *= gamma;
  }
  return sum;
}

/// C(a, k) / C(b, k) for a <= b, k <= b.
double choose_ratio(std::size_t a, std::size_t b, std::size_t k) {
  double ratio = 1;
  for (std::size_t i = 0; i < k; ++i) {
    if (a <= i) return 0;
    ratio *= static_cast<double>(a - i) / static_cast<double>(b - i);
  }
  return ratio;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> rewards(const std::vector<Standing>& group, const RankOptions& options) {
  const std::size_t n = group.size();
  std::vector<double> out(n, 0.0);
  switch (options.reward) {
    case Reward::kRank:
      if (n < 2) break;
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) {
          if (j != i) sum += comparison(group[i], group[j], options);
        }
        out[i] = sum / static_cast<double>(n - 1);
      }
      break;
    case Reward::kBinary:
      for (std::size_t i = 0; i < n; ++i) out[i] = group[i].solved_at > 0 ? 1 : 0;
      break;
    case Reward::kKevin:
      for (std::size_t i = 0; i < n; ++i) out[i] = kevin_reward(group[i], options.gamma);
      break;
    case Reward::kPassK: {
      const auto c = static_cast<std::size_t>(
          std::count_if(group.begin(), group.end(), [](const Standing& s) { return s.solved_at > 0; }));
      const std::size_t k = std::min(options.k, n);
      const double share = n > 0 ? static_cast<double>(k) / static_cast<double>(n) : 0;
      for (std::size_t i = 0; i < n; ++i) {
        out[i] = group[i].solved_at > 0 ? share : share * (1 - choose_ratio(n - 1 - c, n - 1, k - 1));
      }
      break;
    }
  }
  return out;
}

std::vector<double> advantages(const std::vector<double>& rewards, const RankOptions& options) {
  const std::size_t n = rewards.size();
  Advantage kind = options.advantage;
  if (kind == Advantage::kDefault)
    kind = options.reward == Reward::kRank ? Advantage::kNone : Advantage::kRloo;
  if (n < 2) return std::vector<double>(n, 0.0);
  if (kind == Advantage::kNone) return rewards;
  const auto [low, high] = std::minmax_element(rewards.begin(), rewards.end());
  if (*low == *high) return std::vector<double>(n, 0.0);

  const double mean = mean_of(rewards);
  double scale = 1;
  if (kind == Advantage::kRloo) {
    scale = static_cast<double>(n) /
            static_cast<double>(n - 1);  // r - mean of the others = n / (n - 1) (r - mean)
  } else if (kind == Advantage::kGrpo) {
    double squares = 0;
    for (double r : rewards) squares += (r - mean) * (r - mean);
    scale = 1 / (std::sqrt(squares / static_cast<double>(n - 1)) + 1e-4);
  }
  std::vector<double> out;
  for (double r : rewards) out.push_back((r - mean) * scale);
  return out;
}

std::vector<double> turn_credit(double b, std::size_t solved_at, std::size_t turns,
                                const RankOptions& options) {
  std::vector<double> out(turns, b);
  if (options.credit == Credit::kTrajectory || solved_at == 0 || !(b > 0)) return out;
  for (std::size_t t = 1; t <= turns; ++t) {
    out[t - 1] = t <= solved_at ? std::pow(options.gamma, static_cast<double>(solved_at - t)) * b : 0.0;
  }
  return out;
}

bool rank(Json& record, const RankOptions& options) {
  const std::vector<RolloutOutcome> outcomes = records::outcomes_of(record);
  Json& rollouts = record["rollouts"];

  std::vector<std::size_t> scorable;  // indices of rollouts
  std::vector<Standing> group;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].scorable()) continue;
    scorable.push_back(i);
    group.push_back(standing_of(rollouts[i]["turns"], outcomes[i]));
  }
  const std::vector<double> reward = rewards(group, options);
  const std::vector<double> advantage = advantages(reward, options);

  std::vector<std::vector<double>> credit;  // [scorable][turns]
  std::size_t longest = 0;
  for (std::size_t s = 0; s < scorable.size(); ++s) {
    credit.push_back(
        turn_credit(advantage[s], group[s].solved_at, outcomes[scorable[s]].turns.size(), options));
    longest = std::max(longest, credit.back().size());
  }
  if (options.recenter) {
    for (std::size_t t = 0; t < longest; ++t) {
      double sum = 0, count = 0;
      for (const auto& turns : credit) {
        if (t < turns.size()) sum += turns[t], ++count;
      }
      for (auto& turns : credit) {
        if (t < turns.size()) turns[t] -= sum / count;
      }
    }
  }

  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].scorable()) continue;
    rollouts[i]["reward"] = nullptr;
    for (Json& turn : rollouts[i]["turns"]) turn["advantage"] = 0.0;
  }
  bool any = false;
  for (std::size_t s = 0; s < scorable.size(); ++s) {
    Json& rollout = rollouts[scorable[s]];
    rollout["reward"] = reward[s];
    Json& turns = rollout["turns"];
    for (std::size_t t = 0; t < turns.size(); ++t) {
      turns[t]["advantage"] = credit[s][t];
      any = any || credit[s][t] != 0;
    }
  }
  return any;
}

bool is_ranked(const Json& record) {
  const Json* rollouts = records::find(record, "rollouts");
  if (rollouts == nullptr || !rollouts->is_array() || rollouts->empty()) return false;
  for (const Json& rollout : *rollouts) {
    const Json* turns = records::find(rollout, "turns");
    if (records::find(rollout, "reward") == nullptr || turns == nullptr || !turns->is_array()) return false;
    for (const Json& turn : *turns) {
      if (records::find(turn, "advantage") == nullptr) return false;
    }
  }
  return true;
}

}  // namespace leap
