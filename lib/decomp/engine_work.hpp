/// One decomposition under way in the engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decomp/cpp_programs.hpp"
#include "decomp/engine.hpp"
#include "decomp/judge.hpp"
#include "decomp/worker_process.hpp"

namespace leap::decomp {

using Choice = std::vector<int>;

/// Programs with the letters that they have so far. A cell holds one implementation of each class of equal
/// ones.
struct Part {
  Cell cell;
  std::string letters;
  bool over = false;  ///< needs no further test
};

/// How many.
std::uint64_t programs_of(const Cell& cell);

Cell cell_of(const Choice& choice);

/// Visits the choices of a cell.
template <class Visit>
void for_each_choice(const Cell& cell, const Visit& visit) {
  std::vector<Choice> options;
  for (const Set& set : cell) {
    options.emplace_back();
    for (std::size_t j = 0; j < kMaxImplementations; ++j)
      if (set[j]) options.back().push_back(static_cast<int>(j));
    if (options.back().empty()) return;
  }
  std::vector<std::size_t> at(cell.size(), 0);
  Choice choice;
  for (const Choice& option : options) choice.push_back(option[0]);
  while (true) {
    visit(choice);
    std::size_t l = cell.size();
    while (l > 0 && ++at[l - 1] == options[l - 1].size()) {
      at[l - 1] = 0;
      choice[l - 1] = options[l - 1][0];
      --l;
    }
    if (l == 0) return;
    choice[l - 1] = options[l - 1][at[l - 1]];
  }
}

/// One decomposition under way.
struct Work {
  const Decomposition& decomposition;
  const Judge& judge;
  Recombination& out;
  std::chrono::steady_clock::time_point begin;
  double budget_s;
  Sources sources;
  std::unique_ptr<WorkerProcess> worker;
  std::vector<Part> parts;
  bool spent = false;  ///< the budget
  std::unique_ptr<CppPrograms> programs{};

  double left_s() const {
    return budget_s - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  bool over() {
    spent = spent || (budget_s > 0 && left_s() <= 0);
    return spent;
  }
};

}  // namespace leap::decomp
