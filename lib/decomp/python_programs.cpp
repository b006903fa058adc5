#include "decomp/python_programs.hpp"

#include <algorithm>
#include <mutex>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "records/records.hpp"

namespace leap::decomp {
namespace {

using records::text_of;

constexpr int kAudited = 3;          // programs a decomposition, of those that pass and of those that fail
constexpr std::size_t kChunk = 256;  // runs that one worker takes at a time

}  // namespace

void PythonPrograms::need_worker(Work& work) {
  if (work.worker) return;
  work.worker = workers_.take();
  work.worker->load(work.decomposition, work.judge.entry(), work.judge.limits(), work.judge.inputs());
}

void PythonPrograms::run_items(Work& work, WorkerProcess& worker, std::size_t test,
                               const std::vector<Choice>& choices, std::size_t begin, std::size_t end,
                               std::vector<char>& letters) {
  const sandbox::Limits& limits = work.judge.limits();
  std::vector<WorkerProcess::Item> items;
  for (std::size_t i = begin; i < end; ++i) items.push_back({test, &choices[i]});
  std::vector<std::size_t> again;
  worker.run(items, 2, [&](std::size_t i, RunResult result) {
    // CPU time between once and twice the limit is measured again, and so is a wait that may be the
    // machine's.
    const bool near =
        result.cpu_s > limits.cpu_s && result.cpu_s < 2 * limits.cpu_s && result.end != RunEnd::kOutput;
    const bool starved = result.end == RunEnd::kWall && result.cpu_s > 0.1 * limits.cpu_s;
    letters[begin + i] = work.judge.letter(test, result);
    if (near || starved) again.push_back(i);
    return !work.over();
  });
  for (const std::size_t i : again) {
    worker.run({items[i]}, 2, [&](std::size_t, RunResult result) {
      const char letter = work.judge.letter(test, result);
      if (letter != 'T') letters[begin + i] = letter;
      return true;
    });
  }
}

/// Each program that needs this test by itself.
void PythonPrograms::run_test(Work& work, std::size_t test) {
  std::vector<Part> parts;
  std::vector<Choice> choices;
  std::vector<std::string> so_far;
  for (Part& part : work.parts) {
    if (part.over) {
      parts.push_back(std::move(part));
    } else if (part.letters.size() == test) {
      for_each_choice(part.cell, [&](const Choice& choice) {
        choices.push_back(choice);
        so_far.push_back(part.letters);
      });
    } else {
      parts.push_back(std::move(part));
    }
  }
  std::vector<char> letters(choices.size(), 0);
  std::mutex mutex;
  std::vector<std::unique_ptr<WorkerProcess>> idle;
  idle.push_back(std::move(work.worker));
  const std::size_t chunks = (choices.size() + kChunk - 1) / kChunk;
  auto run_chunk = [&](std::size_t chunk) {
    if (work.budget_s > 0 && work.left_s() <= 0) return;
    std::unique_ptr<WorkerProcess> worker;
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) worker = std::move(idle.back()), idle.pop_back();
    }
    const std::size_t begin = chunk * kChunk, end = std::min(choices.size(), begin + kChunk);
    for (int attempt = 0;; ++attempt) {
      try {
        if (!worker) {
          worker = workers_.take();
          worker->load(work.decomposition, work.judge.entry(), work.judge.limits(), work.judge.inputs());
        }
        run_items(work, *worker, test, choices, begin, end, letters);
        break;
      } catch (const sandbox::Fault&) {
        worker.reset();
        if (attempt == 1) break;
      }
    }
    std::lock_guard lock(mutex);
    if (!worker) return;
    work.out.cpu_s += worker->take_cpu_s();
    idle.push_back(std::move(worker));
  };
  for_each_index(chunks, run_chunk);
  if (!idle.empty()) {
    work.worker = std::move(idle.back());
    idle.pop_back();
    for (auto& worker : idle) workers_.give(std::move(worker));
  }
  work.over();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (letters[i] == 0) {
      if (work.spent) continue;
      // The worker did not survive it twice: judged elsewhere.
      letters[i] = letter_of_status(
          text_of(verifier_.verdict(work.judge.single(test), program_text(work.decomposition, choices[i])),
                  "status"));
    }
    ++work.out.runs;
    parts.push_back({cell_of(choices[i]), so_far[i] + letters[i], closes(letters[i])});
  }
  work.parts = std::move(parts);
}

bool PythonPrograms::explore_test(Work& work, std::size_t test, bool tree) {
  std::vector<Part> parts, asked;
  std::vector<Cell> cells;
  for (Part& part : work.parts) {
    if (part.over || part.letters.size() != test) {
      parts.push_back(std::move(part));
    } else {
      cells.push_back(part.cell);
      asked.push_back(std::move(part));
    }
  }
  Explored explored;
  bool alive = !cells.empty();
  if (alive) {
    try {
      need_worker(work);
      alive = work.worker->explore(tree, test, cells, work.budget_s > 0 ? std::max(0.01, work.left_s()) : 0,
                                   explored);
    } catch (const sandbox::Fault&) {
      alive = false;
      work.worker.reset();
    }
  }
  work.over();
  const std::size_t kept = parts.size();
  std::vector<std::uint64_t> covered(cells.size(), 0);
  std::vector<char> letters;
  for (const SharedResult& result : explored.results)
    letters.push_back(result.letter == ' ' ? work.judge.compare(test, result.output) : result.letter);
  std::vector<Part> unknown;
  for (const Found& one : explored.found) {
    covered[one.cell] += programs_of(one.part);
    const char letter = letters[one.result];
    const std::string& before = asked[one.cell].letters;
    if (letter == '?')
      unknown.push_back({one.part, before, false});
    else
      parts.push_back({one.part, before + letter, closes(letter)});
  }
  work.out.runs += explored.bodies;
  bool complete = alive || cells.empty();
  for (std::size_t i = 0; i < cells.size() && !work.spent; ++i)
    complete = complete && covered[i] == programs_of(cells[i]);
  if (!complete && !work.spent) {
    // As if nothing had been asked.
    parts.resize(kept);
    for (Part& part : asked) parts.push_back(std::move(part));
    work.parts = std::move(parts);
    return false;
  }
  work.parts = std::move(parts);
  if (!unknown.empty()) {
    for (Part& part : unknown) work.parts.push_back(std::move(part));
    run_test(work, test);
  }
  return true;
}

void PythonPrograms::run_tests(Work& work, Mode mode) {
  for (std::size_t test = 0; test < work.judge.tests(); ++test) {
    if (work.over()) return;
    while (mode != Mode::kRun && !explore_test(work, test, mode == Mode::kTree)) {
      mode = mode == Mode::kTrie && work.sources.tree.empty() ? Mode::kTree : Mode::kRun;
      work.out.mode = mode == Mode::kTree ? "tree" : "run";
      work.out.why = "exploring did not come to an end";
    }
    if (mode == Mode::kRun) run_test(work, test);
  }
}

bool PythonPrograms::audited(Work& work, std::uint64_t key) {
  std::vector<const Part*> passing, failing;
  for (const Part& part : work.parts) {
    if (part.letters.empty() || part.letters[0] == 'C') continue;
    (part.letters.find_first_not_of('P') == std::string::npos ? passing : failing).push_back(&part);
  }
  need_worker(work);
  std::uint64_t at = 0;
  for (const auto* parts : {&passing, &failing}) {
    for (int i = 0; i < kAudited && !parts->empty(); ++i) {
      const Part& part = *(*parts)[random_bits(key, at++) % parts->size()];
      Choice choice;
      for (const Set& set : part.cell) {
        std::size_t skip = random_bits(key, at++) % set.count(), j = 0;
        while (!set[j] || skip-- > 0) ++j;
        choice.push_back(static_cast<int>(j));
      }
      for (std::size_t test = 0; test < part.letters.size(); ++test) {
        // A time-out is not worth its time.
        if (part.letters[test] == 'T') continue;
        std::vector<char> letter(1, 0);
        run_items(work, *work.worker, test, {choice}, 0, 1, letter);
        if (letter[0] != part.letters[test]) return false;
      }
    }
  }
  return true;
}

}  // namespace leap::decomp
