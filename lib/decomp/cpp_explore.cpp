#include "decomp/cpp_explore.hpp"

#include <tbb/parallel_for_each.h>
#include <tbb/task_arena.h>

#include <mutex>

#include "base/parallel.hpp"
#include "base/random.hpp"

namespace leap::decomp {
namespace {

constexpr std::size_t kAudited = 2;  // programs that fail; of those that pass, the winner is compiled anyway

bool is_empty(const Cell& cell) {
  for (const Set& set : cell)
    if (set.none()) return true;
  return false;
}

/// The n-th implementation of each set; `pick(size)` says which.
template <class Pick>
std::vector<int> choice_of(const Cell& cell, const Pick& pick) {
  std::vector<int> out;
  for (const Set& set : cell) {
    std::size_t skip = pick(set.count()), j = 0;
    while (!set[j] || skip-- > 0) ++j;
    out.push_back(static_cast<int>(j));
  }
  return out;
}

std::vector<int> first_of(const Cell& cell) {
  return choice_of(cell, [](std::size_t) { return std::size_t{0}; });
}

Set only(int j) {
  Set out;
  out.set(static_cast<std::size_t>(j));
  return out;
}

/// Cuts `cell` into the programs that agree with `choice` in `functions`, which it becomes, and the others.
std::vector<Cell> cut(Cell& cell, const std::vector<int>& choice, const std::vector<int>& functions) {
  std::vector<Cell> rest;
  for (const int function : functions) {
    const auto l = static_cast<std::size_t>(function);
    Cell other = cell;
    other[l] &= ~only(choice[l]);
    if (other[l].any()) rest.push_back(std::move(other));
    cell[l] = only(choice[l]);
  }
  return rest;
}

struct Sorted {
  std::vector<Cell> shared, whole, refused;
};

/// Cells whose implementations of a function are all of one CppPart.
void sort_by_part(const CppPrograms& programs, const Cell& cell, Sorted& out) {
  constexpr CppPart kParts[] = {CppPart::kShared, CppPart::kUnbalanced, CppPart::kBroken, CppPart::kWhole};
  Cell now(cell.size());
  std::vector<int> count(4, 0);
  const std::function<void(std::size_t)> down = [&](std::size_t l) {
    if (l == cell.size()) {
      const bool whole = count[3] > 0 || count[1] > 1;
      (whole ? out.whole : count[1] + count[2] > 0 ? out.refused : out.shared).push_back(now);
      return;
    }
    for (std::size_t p = 0; p < 4; ++p) {
      now[l].reset();
      for (std::size_t j = 0; j < kMaxImplementations; ++j)
        if (cell[l][j] && programs.part(l, j) == kParts[p]) now[l].set(j);
      if (now[l].none()) continue;
      ++count[p];
      down(l + 1);
      --count[p];
    }
  };
  if (!is_empty(cell)) down(0);
}

/// Takes the programs out of `shared` that hold two implementations that must not meet.
void keep_apart(const CppPrograms& programs, Sorted& sorted) {
  if (sorted.shared.empty()) return;
  const std::size_t n = sorted.shared[0].size();
  for (std::size_t l = 0; l < n; ++l)
    for (std::size_t m = l + 1; m < n; ++m) {
      Set of_l, of_m;
      for (const Cell& cell : sorted.shared) of_l |= cell[l], of_m |= cell[m];
      for (std::size_t j = 0; j < kMaxImplementations; ++j)
        for (std::size_t i = 0; of_l[j] && i < kMaxImplementations; ++i) {
          if (!of_m[i] || !programs.apart(l, j, m, i)) continue;
          std::vector<Cell> kept;
          for (Cell& cell : sorted.shared) {
            if (!cell[l][j] || !cell[m][i]) {
              kept.push_back(std::move(cell));
              continue;
            }
            std::vector<int> pair(n, 0);
            pair[l] = static_cast<int>(j), pair[m] = static_cast<int>(i);
            for (Cell& rest : cut(cell, pair, {static_cast<int>(l), static_cast<int>(m)}))
              kept.push_back(std::move(rest));
            sorted.whole.push_back(std::move(cell));
          }
          sorted.shared = std::move(kept);
        }
    }
}

class Explorer {
 public:
  Explorer(CppPrograms& programs, const CppQuestion& question) : programs_(programs), question_(question) {}

  std::vector<CppLetters> shared(const std::vector<Cell>& cells) {
    std::vector<CppLetters> open, over;
    for (const Cell& cell : cells) open.push_back({cell, ""});
    for (std::size_t test = 0; test < question_.tests && !open.empty(); ++test) {
      std::vector<CppLetters> next;
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for_each(open, [&](const CppLetters& asked, tbb::feeder<CppLetters>& feeder) {
          one_run(test, asked, next, over, feeder);
        });
      });
      open = std::move(next);
    }
    for (CppLetters& letters : open) over.push_back(std::move(letters));
    return over;
  }

  std::vector<CppLetters> whole(const std::vector<Cell>& cells) {
    std::vector<std::vector<int>> choices;
    std::vector<int> all;
    for (Cell cell : cells) {
      all.clear();
      for (std::size_t l = 0; l < cell.size(); ++l) all.push_back(static_cast<int>(l));
      std::vector<Cell> todo{std::move(cell)};
      while (!todo.empty()) {
        Cell now = std::move(todo.back());
        todo.pop_back();
        choices.push_back(first_of(now));
        for (Cell& rest : cut(now, choices.back(), all)) todo.push_back(std::move(rest));
      }
    }
    std::vector<CppLetters> out(choices.size());
    for_each_index(choices.size(), [&](std::size_t i) {
      for (const int j : choices[i]) out[i].cell.push_back(only(j));
      if (!question_.out_of_time()) out[i].letters = programs_.whole(choices[i], 0, question_.all);
    });
    return out;
  }

  /// Do some programs that fail end as they do when they are compiled as a whole?
  bool confirmed(const std::vector<CppLetters>& letters) {
    std::vector<const CppLetters*> failing;
    for (const CppLetters& one : letters) {
      // A time-out is not worth its time.
      if (one.letters.find('T') == std::string::npos &&
          one.letters.find_first_not_of('P') != std::string::npos)
        failing.push_back(&one);
    }
    std::uint64_t at = 0;
    auto pick = [&](std::size_t size) {
      return static_cast<std::size_t>(random_bits(question_.key, at++) % size);
    };
    for (std::size_t i = 0; i < kAudited && !failing.empty() && !question_.out_of_time(); ++i) {
      const CppLetters& one = *failing[pick(failing.size())];
      const std::string own = programs_.whole(choice_of(one.cell, pick), 0, question_.all);
      if (own.substr(0, one.letters.size()) != one.letters) return false;
    }
    return true;
  }

 private:
  void one_run(std::size_t test, const CppLetters& asked, std::vector<CppLetters>& next,
               std::vector<CppLetters>& over, tbb::feeder<CppLetters>& feeder) {
    CppLetters mine = asked;
    if (question_.out_of_time()) {
      std::lock_guard lock(mutex_);
      over.push_back(std::move(mine));
      return;
    }
    const std::vector<int> choice = first_of(mine.cell);
    CppPrograms::Run run = programs_.run(test, choice);
    const bool unknown = run.letter == '?';
    if (unknown) run.letter = programs_.whole(choice, test, false)[0];
    if (!question_.tree || (unknown && run.functions.empty())) {
      run.functions.clear();
      for (std::size_t l = 0; l < choice.size(); ++l) run.functions.push_back(static_cast<int>(l));
    }
    for (Cell& rest : cut(mine.cell, choice, run.functions)) feeder.add({std::move(rest), mine.letters});
    mine.letters += run.letter;
    std::lock_guard lock(mutex_);
    (run.letter == 'P' || question_.all ? next : over).push_back(std::move(mine));
  }

  CppPrograms& programs_;
  const CppQuestion& question_;
  std::mutex mutex_;
};

}  // namespace

CppAnswer explore_cpp(CppPrograms& programs, const std::vector<Cell>& cells, const CppQuestion& question) {
  CppAnswer out;
  Sorted sorted;
  for (const Cell& cell : cells) sort_by_part(programs, cell, sorted);
  keep_apart(programs, sorted);
  Explorer explorer(programs, question);
  out.letters = explorer.shared(sorted.shared);
  if (!explorer.confirmed(out.letters)) {
    out.refuted = true;
    out.letters.clear();
    sorted.whole.insert(sorted.whole.end(), sorted.shared.begin(), sorted.shared.end());
  }
  for (CppLetters& one : explorer.whole(sorted.whole)) out.letters.push_back(std::move(one));
  const std::string refused = question.all ? std::string(question.tests, 'C') : "C";
  for (Cell& cell : sorted.refused) out.letters.push_back({std::move(cell), refused});
  return out;
}

}  // namespace leap::decomp
