#include "decomp/engine.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

#include "base/error.hpp"
#include "base/random.hpp"
#include "decomp/cpp_explore.hpp"
#include "decomp/judge.hpp"
#include "decomp/sample.hpp"
#include "decomp/worker_process.hpp"
#include "records/records.hpp"
#include "verify/verify.hpp"

namespace leap::decomp {
namespace {

using records::find;
using records::text_of;

using Clock = std::chrono::steady_clock;
using Choice = std::vector<int>;

constexpr int kAudited = 3;          // programs a decomposition, of those that pass and of those that fail
constexpr int kWinnersTried = 16;    // winners that a fresh sandbox may refuse before none is believed
constexpr std::size_t kChunk = 256;  // runs that one worker takes at a time

/// Programs with the letters that they have so far. A cell holds one implementation of each class of equal
/// ones.
struct Part {
  Cell cell;
  std::string letters;
  bool over = false;  ///< needs no further test
};

std::uint64_t programs_of(const Cell& cell) {
  std::uint64_t out = 1;
  for (const Set& set : cell) out *= set.count();
  return out;
}

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

Cell cell_of(const Choice& choice) {
  Cell cell(choice.size());
  for (std::size_t l = 0; l < choice.size(); ++l) cell[l].set(static_cast<std::size_t>(choice[l]));
  return cell;
}

}  // namespace

class Engine::Impl {
 public:
  explicit Impl(EngineOptions options)
      : options_(options),
        verifier_(verify::Options{options.sandbox, false, ""}),
        workers_(options.sandbox),
        cpp_(options.sandbox) {}

  Recombination evaluate(const Decomposition& decomposition, const Json& task, const std::string& id,
                         std::size_t index);

 private:
  /// One decomposition under way.
  struct Work {
    const Decomposition& decomposition;
    const Judge& judge;
    Recombination& out;
    Clock::time_point begin;
    double budget_s;
    Sources sources;
    std::unique_ptr<WorkerProcess> worker;
    std::vector<Part> parts;
    bool spent = false;  ///< the budget
    std::unique_ptr<CppPrograms> programs{};

    double left_s() const { return budget_s - std::chrono::duration<double>(Clock::now() - begin).count(); }
    bool over() {
      spent = spent || (budget_s > 0 && left_s() <= 0);
      return spent;
    }
  };

  void need_worker(Work& work);
  void start_parts(Work& work, const std::vector<Choice>& sample) const;
  void run_tests(Work& work, Mode mode);
  /// False when the interpreter that the tree or trie lives in died.
  bool explore_test(Work& work, std::size_t test, bool tree);
  void run_test(Work& work, std::size_t test);
  void run_items(Work& work, WorkerProcess& worker, std::size_t test, const std::vector<Choice>& choices,
                 std::size_t begin, std::size_t end, std::vector<char>& letters);
  bool confirmed(Work& work, const Json& task, const Choice& choice);
  void refuse(Work& work, Choice choice, bool all);
  void gather(Work& work, const std::vector<int>& sizes, const std::vector<Choice>& sample) const;
  bool audited(Work& work, std::uint64_t key);
  void by_verifier(Work& work);
  void by_binaries(Work& work, const std::vector<Choice>& sample, Mode mode, std::uint64_t key);
  void answer_of_binaries(Work& work, Mode mode, std::uint64_t key);
  bool closes(char letter) const { return letter != 'P' && !options_.all_outcomes; }

  EngineOptions options_;
  verify::Verifier verifier_;
  Workers workers_;
  CppSandboxes cpp_;
};

/// Where the last one was lost, another.
void Engine::Impl::need_worker(Work& work) {
  if (work.worker) return;
  work.worker = workers_.take();
  work.worker->load(work.decomposition, work.judge.entry(), work.judge.limits(), work.judge.inputs());
}

/// All programs, or those of the sample, each class of equal implementations by its first one. What contains
/// an implementation that does not compile is settled here.
void Engine::Impl::start_parts(Work& work, const std::vector<Choice>& sample) const {
  const std::size_t n = work.decomposition.functions.size();
  const std::string refused = options_.all_outcomes ? std::string(work.judge.tests(), 'C') : "C";
  work.parts.clear();
  if (!sample.empty()) {
    std::map<Choice, bool> seen;
    for (Choice choice : sample) {
      bool bad = false;
      for (std::size_t l = 0; l < n; ++l) {
        choice[l] = work.sources.classes[l][static_cast<std::size_t>(choice[l])];
        bad = bad || work.sources.bad[l][static_cast<std::size_t>(choice[l])];
      }
      if (!seen.emplace(choice, true).second) continue;
      work.parts.push_back({cell_of(choice), bad ? refused : "", bad});
    }
    return;
  }
  Cell good(n), bad(n);
  for (std::size_t l = 0; l < n; ++l)
    for (std::size_t j = 0; j < work.sources.classes[l].size(); ++j)
      if (work.sources.classes[l][j] == static_cast<int>(j)) (work.sources.bad[l][j] ? bad : good)[l].set(j);
  for (std::size_t l = 0; l < n; ++l) {
    if (bad[l].none()) continue;
    Cell cell = good;
    cell[l] = bad[l];
    for (std::size_t m = l + 1; m < n; ++m) cell[m] |= bad[m];
    if (programs_of(cell) > 0) work.parts.push_back({std::move(cell), refused, true});
  }
  if (programs_of(good) > 0) work.parts.push_back({good, "", false});
}

void Engine::Impl::run_items(Work& work, WorkerProcess& worker, std::size_t test,
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
void Engine::Impl::run_test(Work& work, std::size_t test) {
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
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, chunks, run_chunk); });
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

bool Engine::Impl::explore_test(Work& work, std::size_t test, bool tree) {
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

void Engine::Impl::run_tests(Work& work, Mode mode) {
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

bool Engine::Impl::confirmed(Work& work, const Json& task, const Choice& choice) {
  const Json verdict = verifier_.verdict(task, program_text(work.decomposition, choice));
  if (const Json* measured = find(verdict, "measured"))
    if (const Json* cpu = find(*measured, "cpu_s")) work.out.cpu_s += cpu->get<double>();
  return text_of(verdict, "status") == "ok";
}

/// Gives a winner, or all of them, the letters of a fresh sandbox.
void Engine::Impl::refuse(Work& work, Choice choice, bool all) {
  for (std::size_t l = 0; l < choice.size(); ++l)
    choice[l] = work.sources.classes[l][static_cast<std::size_t>(choice[l])];
  const Cell cell = cell_of(choice);
  std::vector<Part> parts;
  for (Part& part : work.parts) {
    const bool wins =
        part.letters.size() == work.judge.tests() && part.letters.find_first_not_of('P') == std::string::npos;
    bool inside = wins;
    for (std::size_t l = 0; inside && l < cell.size(); ++l) inside = (part.cell[l] & cell[l]).any();
    if (!inside && !(wins && all)) {
      parts.push_back(std::move(part));
      continue;
    }
    for_each_choice(part.cell, [&](const Choice& one) {
      Part single{cell_of(one), part.letters, part.over};
      if (all || one == choice) {
        const std::string text = program_text(work.decomposition, one);
        single.letters.clear();
        for (std::size_t test = 0; test < work.judge.tests(); ++test) {
          single.letters +=
              letter_of_status(text_of(verifier_.verdict(work.judge.single(test), text), "status"));
          single.over = closes(single.letters.back());
          if (single.over) break;
        }
      }
      parts.push_back(std::move(single));
    });
  }
  work.parts = std::move(parts);
}

/// What is known so far, for all implementations instead of classes.
void Engine::Impl::gather(Work& work, const std::vector<int>& sizes,
                          const std::vector<Choice>& sample) const {
  Recombination& out = work.out;
  auto complete = [&](const Part& part) { return part.over || part.letters.size() == work.judge.tests(); };
  std::vector<std::pair<Cell, std::string>> cells;
  std::map<Choice, std::string> letters;
  for (const Part& part : work.parts) {
    if (!complete(part)) continue;
    if (!sample.empty()) {
      for_each_choice(part.cell, [&](const Choice& choice) { letters[choice] = part.letters; });
      continue;
    }
    Cell cell(sizes.size());
    for (std::size_t l = 0; l < sizes.size(); ++l)
      for (std::size_t j = 0; j < static_cast<std::size_t>(sizes[l]); ++j)
        cell[l][j] = part.cell[l][static_cast<std::size_t>(work.sources.classes[l][j])];
    cells.emplace_back(std::move(cell), part.letters);
  }
  for (const Choice& choice : sample) {
    Choice first = choice;
    for (std::size_t l = 0; l < first.size(); ++l)
      first[l] = work.sources.classes[l][static_cast<std::size_t>(first[l])];
    const auto found = letters.find(first);
    if (found != letters.end()) cells.emplace_back(cell_of(choice), found->second);
  }
  out.outcomes = Outcomes(sizes, cells);
  out.evaluated = out.solved = 0;
  out.best.clear();
  auto passed = [](const std::string& outcomes) { return std::count(outcomes.begin(), outcomes.end(), 'P'); };
  std::ptrdiff_t most = -1;
  for (const Outcomes::Tally& tally : out.outcomes.tally()) {
    out.evaluated += tally.programs;
    if (static_cast<std::size_t>(passed(tally.outcomes)) == out.tests) out.solved += tally.programs;
    most = std::max(most, passed(tally.outcomes));
  }
  out.outcomes.for_each_box([&](const Box& box) {
    if (passed(box.outcomes) < most) return true;
    out.best = box.choice;
    for (int& j : out.best) j = std::max(j, 0);
    return false;
  });
  out.settled = out.evaluated == out.wanted;
}

/// Runs a few programs by themselves and compares.
bool Engine::Impl::audited(Work& work, std::uint64_t key) {
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

/// Where a worker cannot be used: one verdict a program and test.
void Engine::Impl::by_verifier(Work& work) {
  std::vector<Choice> choices;
  for (const Part& part : work.parts)
    for_each_choice(part.cell, [&](const Choice& choice) { choices.push_back(choice); });
  std::vector<std::string> letters(choices.size());
  std::vector<Json> tests;
  for (std::size_t test = 0; test < work.judge.tests(); ++test) tests.push_back(work.judge.single(test));
  std::atomic<std::uint64_t> runs{0};
  std::mutex mutex;
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::size_t{0}, choices.size(), [&](std::size_t i) {
      std::string mine;
      const std::string text = program_text(work.decomposition, choices[i]);
      for (const Json& test : tests) {
        if (work.budget_s > 0 && work.left_s() <= 0) return;
        const Json verdict = verifier_.verdict(test, text);
        ++runs;
        mine += letter_of_status(text_of(verdict, "status"));
        std::lock_guard lock(mutex);
        if (const Json* measured = find(verdict, "measured"))
          if (const Json* cpu = find(*measured, "cpu_s")) work.out.cpu_s += cpu->get<double>();
        if (closes(mine.back())) break;
      }
      letters[i] = mine;
    });
  });
  work.over();
  work.out.runs += runs;
  work.parts.clear();
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (!letters[i].empty())
      work.parts.push_back({cell_of(choices[i]), letters[i], closes(letters[i].back())});
}

/// C++: many programs in one binary, the others by themselves.
void Engine::Impl::by_binaries(Work& work, const std::vector<Choice>& sample, Mode mode, std::uint64_t key) {
  for (std::size_t l = 0; l < work.decomposition.functions.size(); ++l) {
    std::map<std::string, int> first;
    int j = 0;
    for (const std::string& code : work.decomposition.functions[l].implementations) {
      work.sources.classes[l][static_cast<std::size_t>(j)] = first.emplace(code, j).first->second;
      ++j;
    }
  }
  start_parts(work, sample);
  work.programs = std::make_unique<CppPrograms>(cpp_, work.decomposition, work.judge);
  work.programs->prepare();
  answer_of_binaries(work, mode, key);
}

/// The letters of all that is in `work`.
void Engine::Impl::answer_of_binaries(Work& work, Mode mode, std::uint64_t key) {
  CppPrograms& programs = *work.programs;
  CppQuestion question;
  question.tests = work.judge.tests();
  question.tree = mode != Mode::kRun && programs.why_no_tree().empty();
  question.all = options_.all_outcomes;
  question.key = key;
  question.out_of_time = [&] { return work.budget_s > 0 && work.left_s() <= 0; };
  std::vector<Cell> cells;
  for (const Part& part : work.parts) cells.push_back(part.cell);
  const CppAnswer answer = explore_cpp(programs, cells, question);
  work.parts.clear();
  for (const CppLetters& one : answer.letters)
    if (!one.letters.empty()) work.parts.push_back({one.cell, one.letters, closes(one.letters.back())});
  work.over();
  work.out.mode = question.tree && !answer.refuted ? "tree" : "run";
  work.out.why = answer.refuted ? "a program compiled as a whole ended otherwise"
                 : mode == Mode::kRun || programs.why_no_tree().empty() ? programs.why()
                                                                        : programs.why_no_tree();
  if (answer.refuted) work.programs->share_nothing();
}

Recombination Engine::Impl::evaluate(const Decomposition& decomposition, const Json& task,
                                     const std::string& id, std::size_t index) {
  Recombination out;
  const Judge judge(task);
  out.tests = judge.tests();
  out.programs = program_count(decomposition);
  out.mode = "run";
  if (out.programs == 0) return out;
  std::vector<int> sizes;
  for (const Function& function : decomposition.functions) {
    if (function.implementations.size() > kMaxImplementations)
      throw RecordError("decompositions: more than " + std::to_string(kMaxImplementations) +
                        " implementations of `" + function.name + "`");
    sizes.push_back(static_cast<int>(function.implementations.size()));
  }
  out.wanted = options_.programs == 0 ? out.programs : std::min(options_.programs, out.programs);
  const std::uint64_t key = draw_key(options_.seed, id, index, 0);
  std::vector<Choice> sample;
  if (out.wanted < out.programs) sample = balanced_sample(sizes, out.wanted, key);

  Work work{decomposition, judge, out, Clock::now(), options_.budget_s, {}, nullptr, {}};
  if (judge.plain()) {
    work.worker = workers_.take();
    work.sources = work.worker->load(decomposition, judge.entry(), judge.limits(), judge.inputs());
    Mode mode = options_.mode == Mode::kAuto ? Mode::kTrie : options_.mode;
    if (mode == Mode::kTrie && !work.sources.trie.empty()) mode = Mode::kTree, out.why = work.sources.trie;
    if (mode == Mode::kTree && !work.sources.tree.empty()) mode = Mode::kRun, out.why = work.sources.tree;
    if (!work.sources.whole.empty()) out.why = work.sources.whole;
    start_parts(work, sample);
    out.mode = mode == Mode::kTrie ? "trie" : mode == Mode::kTree ? "tree" : "run";
    run_tests(work, mode);
    if (mode != Mode::kRun && !work.spent && !audited(work, key)) {
      start_parts(work, sample);
      out.mode = "run";
      out.why = "a program run by itself ended otherwise";
      run_tests(work, Mode::kRun);
    }
  } else {
    for (const int size : sizes) {
      work.sources.classes.emplace_back();
      for (int j = 0; j < size; ++j) work.sources.classes.back().push_back(j);
      work.sources.bad.emplace_back(static_cast<std::size_t>(size), false);
    }
    if (judge.native()) {
      by_binaries(work, sample, options_.mode, key);
    } else {
      start_parts(work, sample);
      by_verifier(work);
    }
  }

  // A winner counts when a sandbox that ran none of the others says so too.
  gather(work, sizes, sample);
  const bool confirms = judge.plain() || judge.native();
  for (int tries = 0; confirms && out.solved > 0 && !confirmed(work, task, out.best); ++tries) {
    if (judge.plain() && out.mode != "run" && !work.spent) {
      out.mode = "run";
      out.why = "a winner did not pass by itself";
      start_parts(work, sample);
      run_tests(work, Mode::kRun);
    } else if (judge.native() && work.programs->shares() && !work.spent) {
      work.programs->share_nothing();
      start_parts(work, sample);
      answer_of_binaries(work, Mode::kRun, key);
      out.why = "a winner did not pass by itself";
    } else {
      refuse(work, out.best, tries >= kWinnersTried);
    }
    gather(work, sizes, sample);
  }
  if (work.worker) {
    out.cpu_s += work.worker->take_cpu_s();
    workers_.give(std::move(work.worker));
  }
  if (work.programs) {
    if (out.solved > 0 && !work.over()) out.used = work.programs->functions_used(out.best);
    out.runs += work.programs->runs();
    out.cpu_s += work.programs->cpu_s();
  }
  return out;
}

Engine::Engine(EngineOptions options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;

Recombination Engine::evaluate(const Decomposition& decomposition, const Json& task, const std::string& id,
                               std::size_t index) {
  return impl_->evaluate(decomposition, task, id, index);
}

}  // namespace leap::decomp
