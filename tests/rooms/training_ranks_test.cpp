#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/random.hpp"
#include "training/batch_wire.hpp"
#include "training/split.hpp"

using namespace leap::training;

namespace {

/// The largest cost of a rank.
std::int64_t largest(const std::vector<ActionCost>& costs, const std::vector<int>& ranks) {
  std::vector<std::int64_t> sums(costs.size() + 1, 0);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    std::int64_t& sum = sums[static_cast<std::size_t>(ranks[i])];
    sum += sum > 0 ? costs[i].tokens - costs[i].shared : costs[i].tokens;
  }
  return *std::max_element(sums.begin(), sums.end());
}

/// Of all ways to cut actions from `begin` on among `ranks`, the smallest largest cost.
std::int64_t best(const std::vector<ActionCost>& costs, std::size_t begin, int ranks) {
  if (begin == costs.size()) return 0;
  if (ranks == 0) return std::int64_t{1} << 40;
  std::int64_t sum = 0, found = std::int64_t{1} << 40;
  for (std::size_t end = begin; end < costs.size(); ++end) {
    sum += sum > 0 ? costs[end].tokens - costs[end].shared : costs[end].tokens;
    found = std::min(found, std::max(sum, best(costs, end + 1, ranks - 1)));
  }
  return found;
}

}  // namespace

TEST_CASE("actions are cut into stretches of which the largest is the smallest there can be", "[training]") {
  CHECK(split_actions({}, 3).empty());
  CHECK(split_actions({{5, 0}}, 4) == std::vector<int>{0});
  CHECK(split_actions({{5, 0}, {5, 0}, {5, 0}, {5, 0}}, 2) == std::vector<int>{0, 0, 1, 1});
  // What shares its beginning costs little where it is, and all of it elsewhere.
  CHECK(split_actions({{9, 0}, {10, 9}, {11, 10}, {4, 0}}, 2) == std::vector<int>{0, 0, 0, 1});
  for (std::uint64_t run = 0; run < 300; ++run) {
    std::uint64_t position = 0;
    const auto draw = [&](std::uint64_t below) {
      return static_cast<std::int64_t>(leap::random_bits(run, position++) % below);
    };
    std::vector<ActionCost> costs;
    for (std::int64_t n = draw(8); n >= 0; --n) {
      const std::int64_t tokens = draw(5) == 0 ? 0 : 1 + draw(30);
      const std::int64_t most = costs.empty() ? 0 : std::min(tokens, costs.back().tokens);
      costs.push_back({tokens, draw(static_cast<std::uint64_t>(most) + 1)});
    }
    const int ranks = static_cast<int>(1 + draw(4));
    const std::vector<int> split = split_actions(costs, ranks);
    REQUIRE(split.size() == costs.size());
    CHECK(std::is_sorted(split.begin(), split.end()));
    CHECK(split.back() < ranks);
    CHECK(largest(costs, split) == best(costs, 0, ranks));
  }
}

TEST_CASE("actions survive their way to another rank", "[training]") {
  Action full;
  full.prompt = {1, 2};
  full.completion = {3};
  full.logprobs = {-0.5};
  full.ref_logprobs = {-0.25};
  full.advantage = -1.5;
  full.temperature = 0.7;
  full.weight = 0.5;
  full.max_tokens = 64;
  full.weight_version = 7;
  full.truncated = full.masked = true;
  const std::string bytes = to_bytes({full, Action()});
  const std::vector<Action> back = from_bytes(bytes);
  REQUIRE(back.size() == 2);
  CHECK(to_bytes(back) == bytes);
  CHECK(back[0].prompt == full.prompt);
  CHECK(back[0].ref_logprobs == full.ref_logprobs);
  CHECK(back[0].weight_version == 7);
  CHECK(back[0].masked);
  CHECK(back[1].completion.empty());
  CHECK_FALSE(back[1].truncated);
  CHECK(from_bytes(to_bytes({})).empty());
  for (std::size_t n = 0; n < bytes.size(); n += 7) {
    CHECK_THROWS_AS(from_bytes(std::string_view(bytes).substr(0, n)), leap::Error);
  }
}
