#include "decomp/advantages.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace leap::decomp {
namespace {

/// A reward and its share of a set.
struct Share {
  double reward, weight;
};
using Shares = std::vector<Share>;

/// beta log(sum of weight exp(reward / beta)), weights that sum to 1. The largest reward is factored out;
/// what is left is summed as expm1, except where little is left of 1, where that would cancel.
double soft_max(const Shares& shares, double beta) {
  double most = shares.front().reward;
  for (const Share& share : shares) {
    if (share.weight > 0) most = std::max(most, share.reward);
  }
  double lost = 0, kept = 0;
  for (const Share& share : shares) {
    const double x = (share.reward - most) / beta;
    lost += share.weight * std::expm1(x);
    kept += share.weight * std::exp(x);
  }
  return most + beta * (lost > -0.5 ? std::log1p(lost) : std::log(kept));
}

std::uint64_t count(const Rewards& rewards) {
  std::uint64_t programs = 0;
  for (const Rewarded& one : rewards) programs += one.programs;
  return programs;
}

/// Appends the programs of a decomposition, which weigh `weight` together.
void append(Shares& shares, const Rewards& rewards, double weight) {
  const auto all = static_cast<double>(count(rewards));
  if (all == 0) shares.push_back({0, weight});
  for (const Rewarded& one : rewards) {
    if (one.programs > 0) shares.push_back({one.reward, weight * (static_cast<double>(one.programs) / all)});
  }
}

/// The programs of a decomposition that do not use implementation j of function l.
Rewards without(const Rewards& rewards, std::size_t l, std::size_t j) {
  Rewards left;
  for (const Rewarded& one : rewards) left.push_back({one.reward, one.programs - one.used[l][j], {}});
  return left;
}

double clipped(double value, const AdvantageOptions& options) {
  if (!options.clip) return value;
  return std::clamp(value, -*options.clip, *options.clip);
}

}  // namespace

Advantages advantages(const std::vector<Rewards>& group, const AdvantageOptions& options) {
  Advantages out;
  const std::size_t d = group.size();
  const auto size = static_cast<double>(d);
  const auto value = [&](std::size_t skipped) {
    Shares shares;
    const double weight = 1 / (skipped < d ? size - 1 : size);
    for (std::size_t i = 0; i < d; ++i) {
      if (i != skipped) append(shares, group[i], weight);
    }
    return soft_max(shares, options.beta);
  };
  const double whole = d > 0 ? value(d) : 0;
  for (std::size_t i = 0; i < d; ++i)
    out.decompositions.push_back(d < 2 ? 0.0 : clipped(size * (whole - value(i)), options));

  for (std::size_t i = 0; i < d; ++i) {
    out.implementations.emplace_back();
    if (count(group[i]) == 0) continue;
    Shares own, others;
    append(own, group[i], 1);
    const bool pooled = options.scope == Scope::kPooled && d > 1;
    for (std::size_t other = 0; pooled && other < d; ++other) {
      if (other != i) append(others, group[other], 1 / size);
    }
    const double base = pooled ? whole : soft_max(own, options.beta);
    const std::vector<std::vector<std::uint64_t>>& shape = group[i].front().used;
    for (std::size_t l = 0; l < shape.size(); ++l) {
      out.implementations[i].emplace_back(shape[l].size(), 0.0);
      for (std::size_t j = 0; shape[l].size() > 1 && j < shape[l].size(); ++j) {
        const Rewards left = without(group[i], l, j);
        if (count(left) == 0) continue;
        Shares shares = others;
        append(shares, left, pooled ? 1 / size : 1);
        const double factor = static_cast<double>(shape[l].size()) * (pooled ? size : 1);
        out.implementations[i][l][j] = clipped(factor * (base - soft_max(shares, options.beta)), options);
      }
    }
  }
  return out;
}

}  // namespace leap::decomp
