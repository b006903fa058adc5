#include "decomp/engine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "decomp/cpp_explore.hpp"
#include "decomp/python_programs.hpp"
#include "decomp/sample.hpp"
#include "records/records.hpp"
#include "verify/verify.hpp"

namespace leap::decomp {
namespace {

using records::find;
using records::text_of;

using Clock = std::chrono::steady_clock;

constexpr int kWinnersTried = 16;  // winners that a fresh sandbox may refuse before none is believed

}  // namespace

class Engine::Impl {
 public:
  explicit Impl(EngineOptions options)
      : options_(options),
        verifier_(verify::Options{options.sandbox, false, ""}),
        workers_(options.sandbox),
        python_(options_, workers_, verifier_),
        cpp_(options.sandbox) {}

  Recombination evaluate(const Decomposition& decomposition, const Json& task, const std::string& id,
                         std::size_t index);

 private:
  void start_parts(Work& work, const std::vector<Choice>& sample) const;
  bool confirmed(Work& work, const Json& task, const Choice& choice);
  void refuse(Work& work, Choice choice, bool all);
  void gather(Work& work, const std::vector<int>& sizes, const std::vector<Choice>& sample) const;
  void by_verifier(Work& work);
  void by_binaries(Work& work, const std::vector<Choice>& sample, Mode mode, std::uint64_t key);
  void answer_of_binaries(Work& work, Mode mode, std::uint64_t key);
  bool closes(char letter) const { return letter != 'P' && !options_.all_outcomes; }

  EngineOptions options_;
  verify::Verifier verifier_;
  Workers workers_;
  PythonPrograms python_;
  CppSandboxes cpp_;
};

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
  for_each_index(choices.size(), [&](std::size_t i) {
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
  const bool by_workers = judge.plain() && sandbox::has_inside(options_.sandbox);
  if (by_workers) {
    work.worker = workers_.take();
    work.sources = work.worker->load(decomposition, judge.entry(), judge.limits(), judge.inputs());
    Mode mode = options_.mode == Mode::kAuto ? Mode::kTrie : options_.mode;
    if (mode == Mode::kTrie && !work.sources.trie.empty()) mode = Mode::kTree, out.why = work.sources.trie;
    if (mode == Mode::kTree && !work.sources.tree.empty()) mode = Mode::kRun, out.why = work.sources.tree;
    if (mode == Mode::kTree && sandbox::resolve(options_.sandbox) == sandbox::Mode::kLandlock)
      mode = Mode::kRun, out.why = "a tree of forks needs namespaces";
    if (!work.sources.whole.empty()) out.why = work.sources.whole;
    start_parts(work, sample);
    out.mode = mode == Mode::kTrie ? "trie" : mode == Mode::kTree ? "tree" : "run";
    python_.run_tests(work, mode);
    if (mode != Mode::kRun && !work.spent && !python_.audited(work, key)) {
      start_parts(work, sample);
      out.mode = "run";
      out.why = "a program run by itself ended otherwise";
      python_.run_tests(work, Mode::kRun);
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
      if (judge.plain()) out.why = "workers need namespaces, or root that gives each a user of its own";
      start_parts(work, sample);
      by_verifier(work);
    }
  }

  // A winner counts when a sandbox that ran none of the others says so too.
  gather(work, sizes, sample);
  const bool confirms = by_workers || judge.native();
  for (int tries = 0; confirms && out.solved > 0 && !confirmed(work, task, out.best); ++tries) {
    if (by_workers && out.mode != "run" && !work.spent) {
      out.mode = "run";
      out.why = "a winner did not pass by itself";
      start_parts(work, sample);
      python_.run_tests(work, Mode::kRun);
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
