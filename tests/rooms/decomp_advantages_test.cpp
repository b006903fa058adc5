#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/random.hpp"
#include "decomp/advantages.hpp"
#include "decomp/outcomes.hpp"

using namespace leap::decomp;

namespace {

using Real = long double;
using Choice = std::vector<int>;

/// A decomposition's evaluated programs, listed.
struct Listed {
  std::vector<int> sizes;
  std::vector<std::pair<Choice, double>> programs;

  Rewards rewards() const {
    Rewards out;
    for (const auto& [choice, reward] : programs) {
      auto same = std::find_if(out.begin(), out.end(),
                               [&, r = reward](const Rewarded& one) { return one.reward == r; });
      if (same == out.end()) {
        Rewarded fresh{reward, 0, {}};
        for (const int size : sizes) fresh.used.emplace_back(static_cast<std::size_t>(size), 0);
        same = out.insert(out.end(), fresh);
      }
      ++same->programs;
      for (std::size_t l = 0; l < choice.size(); ++l) ++same->used[l][static_cast<std::size_t>(choice[l])];
    }
    return out;
  }
};

/// The formulas over listed programs, in long doubles.
class Listing {
 public:
  Listing(const std::vector<Listed>& group, Real beta) : group_(group), beta_(beta) {}

  double decomposition(std::size_t i) const {
    if (group_.size() < 2) return 0;
    return static_cast<double>(static_cast<Real>(group_.size()) *
                               (pooled(none_, 0, 0) - pooled(i, none_, 0)));
  }
  double local(std::size_t i, std::size_t l, int j) const {
    const Real k = group_[i].sizes[l];
    const auto left = own(i, l, j);
    if (k < 2 || left.empty()) return 0;
    return static_cast<double>(k * (soft(group_of(own(i, none_, 0))) - soft(group_of(left))));
  }
  double pooled_implementation(std::size_t i, std::size_t l, int j) const {
    const Real k = group_[i].sizes[l], d = static_cast<Real>(group_.size());
    if (k < 2 || own(i, l, j).empty()) return 0;
    return static_cast<double>(d * k * (pooled(none_, 0, 0) - pooled(i, l, j)));
  }

 private:
  using Set = std::vector<Real>;
  static constexpr std::size_t none_ = SIZE_MAX;

  static std::vector<Set> group_of(Set set) { return {std::move(set)}; }

  /// Rewards of the programs of i that do not use implementation j of function l.
  Set own(std::size_t i, std::size_t l, int j) const {
    Set out;
    for (const auto& [choice, reward] : group_[i].programs) {
      if (l == none_ || choice[l] != j) out.push_back(reward);
    }
    return out;
  }
  /// L of all, of all but i (l none), or without an implementation of i.
  Real pooled(std::size_t i, std::size_t l, int j) const {
    std::vector<Set> sets;
    for (std::size_t other = 0; other < group_.size(); ++other) {
      if (other == i && l == none_) continue;
      Set set = other == i ? own(i, l, j) : own(other, none_, 0);
      if (set.empty()) set.push_back(0);
      sets.push_back(std::move(set));
    }
    return soft(sets);
  }
  /// beta log mean over the sets of mean exp(r / beta).
  Real soft(const std::vector<Set>& sets) const {
    Real most = 0;
    for (const Set& set : sets) most = std::max(most, *std::max_element(set.begin(), set.end()));
    Real sum = 0;
    for (const Set& set : sets) {
      Real mean = 0;
      for (const Real r : set) mean += beta_ > 1 ? expm1l((r - most) / beta_) : expl((r - most) / beta_);
      sum += mean / static_cast<Real>(set.size());
    }
    sum /= static_cast<Real>(sets.size());
    return most + beta_ * (beta_ > 1 ? log1pl(sum) : logl(sum));
  }

  const std::vector<Listed>& group_;
  Real beta_;
};

/// Random groups: all programs or some, rewards of a few values, decompositions without programs.
std::vector<Listed> random_group(std::uint64_t key) {
  std::uint64_t position = 0;
  const auto draw = [&](int n) {
    return static_cast<int>(leap::random_bits(key, position++) % static_cast<std::uint64_t>(n));
  };
  const std::array<double, 5> values = {0, 0, 1, 0.3, 0.7};
  std::vector<Listed> group(static_cast<std::size_t>(1 + draw(5)));
  const bool solved_only = draw(2) == 0, sampled = draw(2) == 0;
  for (Listed& one : group) {
    if (draw(5) == 0) continue;
    const int n = 1 + draw(4);
    std::size_t all = 1;
    for (int l = 0; l < n; ++l) {
      one.sizes.push_back(1 + draw(4));
      all *= static_cast<std::size_t>(one.sizes.back());
    }
    for (std::size_t p = 0; p < all; ++p) {
      if (sampled && draw(3) == 0) continue;
      Choice choice;
      for (std::size_t l = 0, rest = p; l < one.sizes.size(); ++l) {
        choice.push_back(static_cast<int>(rest % static_cast<std::size_t>(one.sizes[l])));
        rest /= static_cast<std::size_t>(one.sizes[l]);
      }
      const double reward = values[static_cast<std::size_t>(draw(solved_only ? 3 : 5))];
      one.programs.emplace_back(std::move(choice), reward);
    }
  }
  return group;
}

std::vector<Rewards> rewards_of(const std::vector<Listed>& group) {
  std::vector<Rewards> out;
  for (const Listed& one : group) out.push_back(one.rewards());
  return out;
}

}  // namespace

TEST_CASE("advantages equal those of listed programs", "[decomp]") {
  double worst = 0;
  std::size_t compared = 0;
  for (const double beta : {0.1, 0.3, 1.0, 1e6}) {
    for (const Scope scope : {Scope::kLocal, Scope::kPooled}) {
      for (std::uint64_t key = 0; key < 300; ++key) {
        const auto group = random_group(key);
        const Advantages made = advantages(rewards_of(group), {beta, scope, {}});
        const Listing listing(group, beta);
        REQUIRE(made.decompositions.size() == group.size());
        for (std::size_t i = 0; i < group.size(); ++i) {
          worst = std::max(worst, std::abs(made.decompositions[i] - listing.decomposition(i)));
          ++compared;
          REQUIRE(made.implementations[i].empty() == group[i].programs.empty());
          for (std::size_t l = 0; l < made.implementations[i].size(); ++l) {
            for (int j = 0; j < group[i].sizes[l]; ++j) {
              const double got = made.implementations[i][l][static_cast<std::size_t>(j)];
              const double want =
                  scope == Scope::kLocal ? listing.local(i, l, j) : listing.pooled_implementation(i, l, j);
              worst = std::max(worst, std::abs(got - want));
              ++compared;
              if (group[i].sizes[l] == 1) REQUIRE(got == 0);
            }
          }
        }
        if (group.size() == 1) REQUIRE(made.decompositions[0] == 0);
      }
    }
  }
  INFO("largest difference " << worst << " of " << compared);
  CHECK(compared > 20000);
  CHECK(worst < 1e-12);
}

TEST_CASE("one decomposition: both scopes are the same; large beta is leave-one-out of the mean",
          "[decomp]") {
  Listed one{{3, 2}, {}};
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 2; ++b) one.programs.push_back({{a, b}, a == 0 ? 1.0 : b == 0 ? 0.5 : 0.0});
  }
  for (const double beta : {0.1, 1e6}) {
    CHECK(advantages({one.rewards()}, {beta, Scope::kLocal, {}}).implementations ==
          advantages({one.rewards()}, {beta, Scope::kPooled, {}}).implementations);
  }
  const Advantages mean = advantages({one.rewards(), {}}, {1e9, Scope::kLocal, {}});
  CHECK(mean.implementations[0][0][0] == Approx(3 * (0.5 - 0.25)).margin(1e-6));
  CHECK(mean.decompositions[0] == Approx(0.5 - 0.0).margin(1e-6));
  CHECK(mean.decompositions[1] == Approx(0.0 - 0.5).margin(1e-6));
  const Advantages clipped = advantages({one.rewards(), {}}, {0.1, Scope::kLocal, 0.1});
  CHECK(clipped.decompositions[0] == 0.1);
  CHECK(clipped.implementations[0][0][1] == -0.1);
  CHECK(advantages({}, {}).decompositions.empty());
}

TEST_CASE("a lone winner among 8 has 6.3 at beta 0.1", "[decomp]") {
  Listed one{{8}, {}};
  for (int j = 0; j < 8; ++j) one.programs.push_back({{j}, j == 3 ? 1.0 : 0.0});
  CHECK(advantages({one.rewards()}, {0.1, Scope::kLocal, {}}).implementations[0][0][3] ==
        Approx(6.3367).margin(1e-3));
}

TEST_CASE("order of implementations, functions and decompositions, and splitting, change nothing",
          "[decomp]") {
  for (std::uint64_t key = 1000; key < 1040; ++key) {
    const auto group = random_group(key);
    std::vector<Listed> turned(group.rbegin(), group.rend());
    for (Listed& one : turned) {
      std::reverse(one.programs.begin(), one.programs.end());
      for (auto& [choice, reward] : one.programs) {
        for (std::size_t l = 0; l < choice.size(); ++l) choice[l] = one.sizes[l] - 1 - choice[l];
        std::reverse(choice.begin(), choice.end());
      }
      std::reverse(one.sizes.begin(), one.sizes.end());
    }
    std::vector<Rewards> split;  // every program an entry of its own
    for (const Listed& one : group) {
      split.emplace_back();
      for (const auto& program : one.programs)
        split.back().push_back(Listed{one.sizes, {program}}.rewards()[0]);
    }
    for (const Scope scope : {Scope::kLocal, Scope::kPooled}) {
      const Advantages a = advantages(rewards_of(group), {0.3, scope, {}});
      const Advantages b = advantages(rewards_of(turned), {0.3, scope, {}});
      const Advantages c = advantages(split, {0.3, scope, {}});
      for (std::size_t i = 0; i < group.size(); ++i) {
        const std::size_t other = group.size() - 1 - i;
        CHECK(a.decompositions[i] == Approx(b.decompositions[other]).margin(1e-13));
        CHECK(a.decompositions[i] == Approx(c.decompositions[i]).margin(1e-13));
        for (std::size_t l = 0; l < a.implementations[i].size(); ++l) {
          const auto& mine = a.implementations[i][l];
          const auto& theirs = b.implementations[other][a.implementations[i].size() - 1 - l];
          for (std::size_t j = 0; j < mine.size(); ++j) {
            CHECK(mine[j] == Approx(theirs[mine.size() - 1 - j]).margin(1e-12));
            CHECK(mine[j] == Approx(c.implementations[i][l][j]).margin(1e-12));
          }
        }
      }
    }
  }
}

TEST_CASE("16.7 million programs from a few boxes", "[decomp]") {
  // Solved where function l has one of its first l + 1 implementations.
  const std::vector<int> sizes(6, 16);
  std::vector<std::pair<Cell, std::string>> cells;
  Cell before(6);
  for (Set& set : before) {
    for (std::size_t j = 0; j < 16; ++j) set.set(j);
  }
  for (std::size_t l = 0; l < 6; ++l) {
    Cell failed = before;
    for (std::size_t j = 0; j <= l; ++j) failed[l].reset(j), before[l].set(j);
    for (std::size_t j = l + 1; j < 16; ++j) before[l].reset(j);
    cells.emplace_back(failed, "W");
  }
  cells.emplace_back(before, "P");
  const Outcomes outcomes(sizes, cells);
  Rewards rewards;
  for (const Outcomes::Tally& tally : outcomes.tally())
    rewards.push_back({tally.outcomes == "P" ? 1.0 : 0.0, tally.programs, tally.used});
  double share = 1;
  for (int l = 0; l < 6; ++l) share *= (l + 1) / 16.0;
  const double beta = 0.1;
  const auto soft = [&](double p) { return beta * std::log(p * std::exp(1 / beta) + 1 - p); };
  const Advantages made = advantages({rewards, {}}, {beta, Scope::kLocal, {}});
  for (std::size_t l = 0; l < 6; ++l) {
    const double n = static_cast<double>(l) + 1;
    const double without_good = share / (n / 16) * ((n - 1) / 15), without_bad = share / (n / 16) * (n / 15);
    CHECK(made.implementations[0][l][0] == Approx(16 * (soft(share) - soft(without_good))).epsilon(1e-9));
    CHECK(made.implementations[0][l][15] == Approx(16 * (soft(share) - soft(without_bad))).epsilon(1e-9));
  }
  CHECK(made.decompositions[0] ==
        Approx(2 * (beta * std::log((std::exp(soft(share) / beta) + 1) / 2))).epsilon(1e-9));
}

// The gradient of a small policy, enumerated: a decomposition is of type 0 or 1; each of its two functions
// has two implementations, each good or bad by a parameter of (type, function); three decompositions a
// problem.
namespace {

constexpr std::size_t kD = 3, kN = 2, kK = 2, kParameters = 5, kBits = kD + kD * kN * kK;
using Parameters = std::array<double, kParameters>;
constexpr Parameters kTheta = {0.2, -0.4, 0.5, 0.1, -0.7};  // logits
constexpr double kReward[2][2][2] = {{{0.0, 0.3}, {0.2, 1.0}}, {{0.1, 0.0}, {0.6, 0.8}}};

struct Sample {
  std::array<int, kD> type;
  int bit[kD][kN][kK];

  explicit Sample(unsigned number) {
    for (std::size_t i = 0; i < kD; ++i) {
      type[i] = static_cast<int>(number & 1U);
      number >>= 1;
      for (auto& function : bit[i]) {
        for (int& one : function) {
          one = static_cast<int>(number & 1U);
          number >>= 1;
        }
      }
    }
  }
  std::size_t parameter(std::size_t i, std::size_t l) const {
    return 1 + static_cast<std::size_t>(type[i]) * kN + l;
  }
  std::vector<Rewards> rewards() const {
    std::vector<Rewards> out;
    for (std::size_t i = 0; i < kD; ++i) {
      Listed one{{kK, kK}, {}};
      for (int a = 0; a < static_cast<int>(kK); ++a) {
        for (int b = 0; b < static_cast<int>(kK); ++b)
          one.programs.push_back({{a, b}, kReward[type[i]][bit[i][0][a]][bit[i][1][b]]});
      }
      out.push_back(one.rewards());
    }
    return out;
  }
};

double chance(double logit, int bit) {
  const double p = 1 / (1 + std::exp(-logit));
  return bit == 1 ? p : 1 - p;
}
double score(double logit, int bit) {
  return bit - 1 / (1 + std::exp(-logit));
}

double probability(const Sample& sample, const Parameters& theta) {
  double p = 1;
  for (std::size_t i = 0; i < kD; ++i) {
    p *= chance(theta[0], sample.type[i]);
    for (std::size_t l = 0; l < kN; ++l) {
      for (const int bit : sample.bit[i][l]) p *= chance(theta[sample.parameter(i, l)], bit);
    }
  }
  return p;
}

double soft_max(const std::vector<Rewards>& group, double beta) {
  double sum = 0;
  for (const Rewards& one : group) {
    double mean = 0, programs = 0;
    for (const Rewarded& part : one) {
      mean += static_cast<double>(part.programs) * std::expm1(part.reward / beta);
      programs += static_cast<double>(part.programs);
    }
    sum += mean / programs;
  }
  return beta * std::log1p(sum / static_cast<double>(group.size()));
}

}  // namespace

TEST_CASE("the estimator is unbiased, and its variance below the score function's", "[decomp]") {
  for (const Scope scope : {Scope::kPooled, Scope::kLocal}) {
    for (const double beta : {0.1, 0.3, 1e6}) {
      const bool pooled = scope == Scope::kPooled;
      std::vector<double> objective, p;
      Parameters mean{}, second{}, plain{}, plain_second{};
      for (unsigned number = 0; number < 1U << kBits; ++number) {
        const Sample sample(number);
        const std::vector<Rewards> group = sample.rewards();
        const Advantages a = advantages(group, {beta, scope, {}});
        double value = 0;
        if (pooled) {
          value = soft_max(group, beta);
        } else {
          for (const Rewards& one : group) value += soft_max({one}, beta) / kD;
        }
        objective.push_back(value);
        p.push_back(probability(sample, kTheta));
        Parameters estimate{}, simple{};
        for (std::size_t i = 0; i < kD; ++i) {
          // Local: implementations are trained with the decompositions frozen.
          if (pooled) {
            const double s = score(kTheta[0], sample.type[i]);
            estimate[0] += s * a.decompositions[i] / kD;
            simple[0] += s * value;
          }
          for (std::size_t l = 0; l < kN; ++l) {
            const std::size_t at = sample.parameter(i, l);
            for (std::size_t j = 0; j < kK; ++j) {
              const double s = score(kTheta[at], sample.bit[i][l][j]);
              estimate[at] += s * a.implementations[i][l][j] / (kD * kK);
              simple[at] += s * value;
            }
          }
        }
        for (std::size_t t = 0; t < kParameters; ++t) {
          mean[t] += p.back() * estimate[t];
          second[t] += p.back() * estimate[t] * estimate[t];
          plain[t] += p.back() * simple[t];
          plain_second[t] += p.back() * simple[t] * simple[t];
        }
      }
      const auto expected = [&](const Parameters& theta) {
        double sum = 0;
        for (unsigned number = 0; number < 1U << kBits; ++number)
          sum += probability(Sample(number), theta) * objective[number];
        return sum;
      };
      double variance = 0, plain_variance = 0;
      Parameters gradient{};
      for (std::size_t t = pooled ? 0 : 1; t < kParameters; ++t) {
        Parameters up = kTheta, down = kTheta;
        up[t] += 1e-4;
        down[t] -= 1e-4;
        gradient[t] = (expected(up) - expected(down)) / 2e-4;
        CHECK(mean[t] == Approx(gradient[t]).margin(1e-8));
        CHECK(plain[t] == Approx(gradient[t]).margin(1e-8));
        variance += second[t] - mean[t] * mean[t];
        plain_variance += plain_second[t] - plain[t] * plain[t];
      }
      std::printf(
          "%s beta %g: gradient %+.4f %+.4f %+.4f %+.4f %+.4f, variance %.5f, score function's %.5f\n",
          pooled ? "pooled" : "local ", beta, mean[0], mean[1], mean[2], mean[3], mean[4], variance,
          plain_variance);
      CHECK(variance < plain_variance / 2);
    }
  }
}
