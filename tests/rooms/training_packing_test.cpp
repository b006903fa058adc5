#include "training/packing.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "base/random.hpp"

using namespace leap;
using namespace leap::training;
using Ids = std::vector<std::int64_t>;

namespace {

Action action(Ids prompt, Ids completion) {
  Action out;
  out.prompt = std::move(prompt);
  out.completion = std::move(completion);
  return out;
}

/// The ids from a sequence's beginning to the row `row` of a pack.
Ids path_to(const model::PackedIds& packed, std::int64_t row) {
  for (const model::Segment& segment : packed.segments) {
    if (row < segment.start || row >= segment.start + segment.length) continue;
    Ids out;
    if (segment.parent >= 0) {
      const model::Segment& parent = packed.segments[static_cast<std::size_t>(segment.parent)];
      out = path_to(packed, parent.start + parent.length - 1);
    }
    REQUIRE(static_cast<std::int64_t>(out.size()) == segment.position);
    const auto begin = packed.ids.begin() + segment.start;
    out.insert(out.end(), begin, begin + (row - segment.start) + 1);
    return out;
  }
  FAIL("no segment has the row");
  return {};
}

}  // namespace

TEST_CASE("turns that extend each other and rollouts of one prompt are computed once", "[training]") {
  const Ids prompt = {1, 2, 3, 4};
  const std::vector<Action> actions = {
      action(prompt, {5, 6, 7}),                      // a rollout's first turn ..
      action({1, 2, 3, 4, 5, 6, 7, 8, 9}, {10, 11}),  // .. and its second
      action(prompt, {5, 9}),                         // another rollout
      action({30, 31}, {32}),                         // another problem
      action(prompt, {5, 9}),                         // the same once more
  };
  const std::vector<Pack> packs = pack(actions, {0, 1, 2, 3, 4}, 1000);
  REQUIRE(packs.size() == 1);
  // 1 2 3 4 5, then 6 7 8 9 10; the last completion id predicts nothing. And 30 31.
  CHECK(packs[0].packed.ids.size() == 5 + 5 + 2);
  CHECK(packs[0].unshared == 6 + 10 + 5 + 2 + 5);
  CHECK(packs[0].lengths.size() == 5);
}

TEST_CASE("every completion token is predicted after exactly its own sequence, in any packing",
          "[training]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::uint64_t draws = 0;
    const auto draw = [&](int n) { return static_cast<std::int64_t>(uniform(seed, draws++) * n); };
    std::vector<Action> actions;
    std::vector<std::size_t> chosen;
    const auto some = [&](int least, int most) {
      Ids out(static_cast<std::size_t>(least + draw(most)));
      for (std::int64_t& id : out) id = draw(2);  // two ids only, so that much is shared
      return out;
    };
    for (std::int64_t count = 1 + draw(9); count > 0; --count) {
      actions.push_back(action(some(1, 6), some(1, 6)));
      if (draw(3) == 0) {  // a turn that goes on from it
        Ids longer = actions.back().prompt;
        longer.insert(longer.end(), actions.back().completion.begin(), actions.back().completion.end());
        longer.push_back(draw(2));
        actions.push_back(action(longer, some(1, 4)));
      }
    }
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (draw(8) != 0) chosen.push_back(i);
    }
    for (const std::int64_t room : {1, 9, 20, 1000}) {
      INFO("seed " << seed << " room " << room);
      std::set<std::pair<std::size_t, std::size_t>> seen;
      for (const Pack& one : pack(actions, chosen, room)) {
        std::int64_t covered = 0;
        std::set<Ids> paths;
        for (std::size_t s = 0; s < one.packed.segments.size(); ++s) {
          const model::Segment& segment = one.packed.segments[s];
          CHECK(segment.start == covered);
          CHECK(segment.parent < static_cast<std::int64_t>(s));
          covered += segment.length;
          for (std::int64_t row = segment.start; row < covered; ++row)
            CHECK(paths.insert(path_to(one.packed, row)).second);  // nothing is computed twice
        }
        CHECK(covered == static_cast<std::int64_t>(one.packed.ids.size()));
        CHECK((covered <= room || one.lengths.size() == 1));
        for (const Pack::Target& target : one.targets) {
          CHECK(seen.emplace(target.action, target.token).second);
          const Action& of = actions[target.action];
          Ids before = of.prompt;
          before.insert(before.end(), of.completion.begin(),
                        of.completion.begin() + static_cast<std::ptrdiff_t>(target.token));
          CHECK(path_to(one.packed, target.row) == before);
        }
      }
      std::size_t tokens = 0;
      for (const std::size_t i : chosen) tokens += actions[i].completion.size();
      CHECK(seen.size() == tokens);
    }
  }
}
