#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/random.hpp"
#include "decomp/engine.hpp"
#include "decomp/sample.hpp"

using namespace leap;
using namespace leap::decomp;

TEST_CASE("the outcomes of cells: boxes, counts, tallies", "[decomp]") {
  // Any map from choices to text, given as single programs, against counting one by one.
  for (std::uint64_t round = 0; round < 60; ++round) {
    std::vector<int> sizes;
    const auto n = 1 + random_bits(round, 0) % 4;
    for (std::uint64_t l = 0; l < n; ++l)
      sizes.push_back(1 + static_cast<int>(random_bits(round, 1 + l) % 4));
    std::map<std::vector<int>, std::string> truth;
    std::vector<std::pair<Cell, std::string>> cells;
    std::uint64_t at = 100;
    for (const auto& choice : balanced_sample(sizes, 1000, 1)) {
      if (random_bits(round, at++) % 5 == 0) continue;
      // Only the first function and the parity of the last matter.
      const std::string text = choice[0] == 0 ? "W" : choice.back() % 2 ? "PP" : "PE";
      truth[choice] = text;
      Cell cell(n);
      for (std::size_t l = 0; l < n; ++l) cell[l].set(static_cast<std::size_t>(choice[l]));
      cells.emplace_back(cell, text);
    }
    const Outcomes outcomes(sizes, cells);
    std::uint64_t programs = 0, boxes = 0;
    std::vector<int> last;
    std::map<std::string, std::uint64_t> counts;
    outcomes.for_each_box([&](const Box& box) {
      CHECK(box.choice > last);
      last = box.choice;
      programs += box.programs;
      counts[box.outcomes] += box.programs;
      ++boxes;
      for (const auto& [choice, text] : truth) {
        bool inside = true;
        for (std::size_t l = 0; l < n; ++l)
          inside = inside && (box.choice[l] < 0 || box.choice[l] == choice[l]);
        if (inside) CHECK(text == box.outcomes);
      }
      return true;
    });
    CHECK(programs == truth.size());
    CHECK(boxes == outcomes.box_count());
    for (const auto& [choice, text] : truth) CHECK(outcomes.at(choice) == text);
    for (const auto& tally : outcomes.tally()) {
      CHECK(tally.programs == counts[tally.outcomes]);
      for (std::size_t l = 0; l < n; ++l)
        for (int j = 0; j < sizes[l]; ++j) {
          std::uint64_t used = 0;
          for (const auto& [choice, text] : truth) used += choice[l] == j && text == tally.outcomes;
          CHECK(tally.used[l][static_cast<std::size_t>(j)] == used);
        }
    }
  }
}

TEST_CASE("a large tensor is never listed", "[decomp]") {
  const std::vector<int> sizes(6, 16);
  std::vector<std::pair<Cell, std::string>> cells;
  Cell all(6), some(6);
  for (auto& set : all)
    for (std::size_t j = 0; j < 16; ++j) set.set(j);
  some = all;
  some[0].reset(3), all[0].reset(), all[0].set(3);
  cells.emplace_back(some, "P");
  cells.emplace_back(all, "W");
  const Outcomes outcomes(sizes, cells);
  CHECK(outcomes.box_count() == 16);
  const auto tally = outcomes.tally();
  REQUIRE(tally.size() == 2);
  CHECK(tally[0].programs == 15u << 20);
  CHECK(tally[0].used[0][3] == 0);
  CHECK(tally[0].used[5][7] == 15u << 16);
  CHECK(tally[1].used[0][3] == 1u << 20);
}

TEST_CASE("a sample is balanced, distinct and depends on its key", "[decomp]") {
  for (const auto& [sizes, count] :
       std::vector<std::pair<std::vector<int>, std::uint64_t>>{{{8, 8, 8, 8}, 512},
                                                               {{5, 5, 5, 5, 5}, 512},
                                                               {{2, 2}, 2},
                                                               {{3, 2}, 5},
                                                               {{4, 4}, 15},
                                                               {{16, 16, 16, 16, 16, 16}, 512}}) {
    const auto sample = balanced_sample(sizes, count, 7);
    CHECK(sample.size() == count);
    CHECK(std::set<std::vector<int>>(sample.begin(), sample.end()).size() == count);
    CHECK(sample == balanced_sample(sizes, count, 7));
    for (std::size_t l = 0; l < sizes.size(); ++l) {
      std::vector<std::uint64_t> uses(static_cast<std::size_t>(sizes[l]));
      for (const auto& choice : sample) ++uses[static_cast<std::size_t>(choice[l])];
      const auto [low, high] = std::minmax_element(uses.begin(), uses.end());
      CHECK(*high - *low <= 1);
    }
  }
  CHECK(balanced_sample({8, 8, 8, 8}, 512, 7) != balanced_sample({8, 8, 8, 8}, 512, 8));
  CHECK(balanced_sample({2, 3}, 100, 7).size() == 6);
}

TEST_CASE("a program's text", "[decomp]") {
  Decomposition d{"", {{"f", {"a", "b"}}, {"g", {"c"}}}, "main()"};
  CHECK(program_text(d, {1, 0}) == "b\nc\nmain()");
  d.preamble = "import sys\n";
  d.main = "";
  CHECK(program_text(d, {0, 0}) == "import sys\n\na\nc");
  CHECK(program_count(d) == 2);
}

namespace {

Decomposition sums() {
  return {"",
          {{"read",
            {"def read():\n    n = int(input())\n    return list(map(int, input().split()))",
             "import sys\ndef read():\n    return [int(x) for x in sys.stdin.read().split()][1:]",
             "def read(:\n    pass", "def read():\n    while True:\n        pass"}},
           {"total",
            {"def total(xs):\n    return sum(xs)", "def total(xs):\n    raise ValueError(xs)",
             "def total(xs):\n    return 6", "def total(xs):\n    return 'x' * 3000000",
             "def total(xs):\n    # the first one\n    return sum(xs)"}}},
          "print(total(read()))"};
}

Json sums_task() {
  return Json::parse(R"({"language": "python", "limits": {"cpu_s": 0.2, "wall_s": 10, "output_kb": 1024},
    "check": {"type": "stdio", "cases": [{"stdin": "3\n1 2 3\n", "stdout": "6\n"}, {"stdin": "1\n5\n", "stdout": "5"}]}})");
}

std::map<std::vector<int>, std::string> boxes_of(const Recombination& out) {
  std::map<std::vector<int>, std::string> boxes;
  for (const Box& box : out.outcomes.boxes()) boxes[box.choice] = box.outcomes;
  return boxes;
}

}  // namespace

TEST_CASE("the engine gives the same boxes in every mode", "[decomp]") {
  const std::map<std::vector<int>, std::string> all = {
      {{0, 0}, "PP"}, {{0, 1}, "EE"}, {{0, 2}, "PW"}, {{0, 3}, "OO"}, {{0, 4}, "PP"},  {{1, 0}, "PP"},
      {{1, 1}, "EE"}, {{1, 2}, "PW"}, {{1, 3}, "OO"}, {{1, 4}, "PP"}, {{2, -1}, "CC"}, {{3, -1}, "TT"}};
  for (const Mode mode : {Mode::kAuto, Mode::kRun, Mode::kTree, Mode::kTrie}) {
    EngineOptions options;
    options.mode = mode;
    options.all_outcomes = true;
    Engine engine(options);
    const Recombination out = engine.evaluate(sums(), sums_task(), "sums", 0);
    CHECK(boxes_of(out) == all);
    CHECK(out.programs == 20);
    CHECK(out.evaluated == 20);
    CHECK(out.solved == 4);
    CHECK(out.settled);
    CHECK(out.best == std::vector<int>{0, 0});
  }
}

TEST_CASE("the engine stops at the first failing test, samples, and keeps to its budget", "[decomp]") {
  EngineOptions options;
  Engine engine(options);
  const Recombination first = engine.evaluate(sums(), sums_task(), "sums", 0);
  CHECK(first.outcomes.at({0, 2}) == "PW");
  CHECK(first.outcomes.at({1, 1}) == "E");
  CHECK(first.outcomes.at({2, 0}) == "C");
  options.programs = 10;
  const Recombination sample = Engine(options).evaluate(sums(), sums_task(), "sums", 0);
  CHECK(sample.wanted == 10);
  CHECK(sample.evaluated == 10);
  for (const Box& box : sample.outcomes.boxes()) CHECK(first.outcomes.at(box.choice) == box.outcomes);
  options.programs = 0;
  options.budget_s = 1e-6;
  const Recombination none = Engine(options).evaluate(sums(), sums_task(), "sums", 0);
  CHECK_FALSE(none.settled);
  CHECK(none.evaluated == 5);  // those that do not compile
}
