/// Python programs of a decomposition, by workers: on values, as trees of forks, or one by one.
#pragma once

#include "decomp/engine_work.hpp"
#include "verify/verify.hpp"

namespace leap::decomp {

/// For all decompositions; thread-safe, a Work being one thread's.
class PythonPrograms {
 public:
  /// `verifier`: of programs that no worker survives.
  PythonPrograms(const EngineOptions& options, Workers& workers, verify::Verifier& verifier)
      : options_(options), workers_(workers), verifier_(verifier) {}

  /// Gives `work` a worker that holds its sources, unless it has one.
  void need_worker(Work& work);
  /// All tests of all parts, until the budget is spent.
  void run_tests(Work& work, Mode mode);
  /// Runs a few programs by themselves and compares.
  bool audited(Work& work, std::uint64_t key);

 private:
  /// False when the interpreter that the tree or trie lives in died.
  bool explore_test(Work& work, std::size_t test, bool tree);
  void run_test(Work& work, std::size_t test);
  void run_items(Work& work, WorkerProcess& worker, std::size_t test, const std::vector<Choice>& choices,
                 std::size_t begin, std::size_t end, std::vector<char>& letters);
  bool closes(char letter) const { return letter != 'P' && !options_.all_outcomes; }

  const EngineOptions& options_;
  Workers& workers_;
  verify::Verifier& verifier_;
};

}  // namespace leap::decomp
