/// Exact verdicts of all programs that a decomposition's implementations make.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decomp/outcomes.hpp"
#include "decomp/program.hpp"
#include "jsonl/json.hpp"
#include "sandbox/box.hpp"

namespace leap::decomp {

/// How programs are run; never what their verdicts are.
enum class Mode {
  kAuto,  ///< the fastest of the others that is exact for these implementations
  kRun,   ///< a process for each program and test
  kTree,  ///< a run forks where it first uses a function
  kTrie,  ///< functions are run on values, and their results are shared
};

struct EngineOptions {
  Mode mode = Mode::kAuto;
  std::uint64_t programs = 0;  ///< a balanced sample of so many programs; 0: all
  bool all_outcomes = false;   ///< run the tests after a program's first failing one too
  double budget_s = 0;         ///< of wall time a decomposition; 0: none
  std::uint64_t seed = 0;
  sandbox::Mode sandbox = sandbox::Mode::kAuto;
};

struct Recombination {
  std::uint64_t programs = 0;   ///< k1 * k2 * ..
  std::uint64_t wanted = 0;     ///< all of them, or those of the sample
  std::uint64_t evaluated = 0;  ///< that have their outcomes: fewer than wanted when the budget ran out
  std::uint64_t solved = 0;     ///< that pass every test
  bool settled = true;          ///< evaluated == wanted
  std::size_t tests = 0;
  Outcomes outcomes;
  /// The program that passes most tests, the first of these; it was run once more in a sandbox of its own.
  /// Empty when nothing was evaluated.
  std::vector<int> best;
  /// The functions that `best`, which passes every test, needs (gaming.hpp), where they are known by the way.
  std::optional<int> used;
  std::string mode;        ///< run, tree or trie: what was used
  std::string why;         ///< why it was nothing faster; empty for trie
  std::uint64_t runs = 0;  ///< processes (run, tree) or bodies of functions (trie) that were run
  double cpu_s = 0;        ///< of the sandboxes
};

/// Safe to use from several threads at once.
class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// `id` and `index` (of the decomposition in its record) key the draws of the sample. RecordError where
  /// the task cannot be used; Error when there is no sandbox.
  Recombination evaluate(const Decomposition& decomposition, const Json& task, const std::string& id,
                         std::size_t index);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leap::decomp
