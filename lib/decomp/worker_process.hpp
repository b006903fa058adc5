/// The engine's side of a worker: a warm Python in a sandbox of its own (worker/main.cpp).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "decomp/outcomes.hpp"
#include "decomp/program.hpp"
#include "decomp/worker/frames.hpp"
#include "sandbox/inside.hpp"

namespace leap::decomp {

/// The input of one test, as the worker wants it.
struct TestInput {
  std::string input, args, kwargs;  ///< stdin; marshal of a call's arguments
};

/// What the worker found out about the sources.
struct Sources {
  std::string whole, tree, trie;  ///< why parts are not compiled one by one, why there is no tree, no trie
  std::vector<std::vector<int>> classes;  ///< of each implementation, the first one that is equal
  std::vector<std::vector<bool>> bad;     ///< no program that contains it compiles
};

/// One run of one program.
struct RunResult {
  RunEnd end = RunEnd::kExit;
  std::uint8_t flags = 0;
  int code = 0;
  double cpu_s = 0, wall_s = 0;
  std::int64_t rss_kb = 0;
  std::string output;
};

/// A result that some programs of an explored cell share.
struct Found {
  std::size_t cell = 0;  ///< index of the cell that was asked about
  Cell part;             ///< the programs
  std::uint32_t result = 0;
};

/// How a program ended in a trie or tree, and with what output.
struct SharedResult {
  char letter = '?';   ///< ' ': normally, compare the output; '?': unknown, to be run; else the letter
  std::string output;  ///< stdout, or the marshal of a call's result
};

struct Explored {
  std::vector<Found> found;
  std::vector<SharedResult> results;
  std::uint64_t bodies = 0;
};

class WorkerProcess {
 public:
  WorkerProcess(sandbox::Mode mode, const std::string& program);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Fault (the worker died) may come out of each of these.
  Sources load(const Decomposition& decomposition, const std::string& entry, const sandbox::Limits& limits,
               const std::vector<TestInput>& tests);
  struct Item {
    std::size_t test;
    const std::vector<int>* choice;
  };
  /// Runs all items, one after the other; `done` gets each result, and ends the batch early by returning
  /// false.
  void run(const std::vector<Item>& items, double cpu_factor,
           const std::function<bool(std::size_t, RunResult)>& done);
  /// False when the shared interpreter died of it, and nothing can be explored any more.
  bool explore(bool tree, std::size_t test, const std::vector<Cell>& cells, double budget_s, Explored& out);

  /// CPU seconds of its programs since this was last asked.
  double take_cpu_s() { return std::exchange(cpu_s_, 0); }

 private:
  Fields receive(double patience_s);
  void send(const Fields& fields);

  sandbox::Inside inside_;
  double cpu_s_ = 0, patience_s_ = 600;
  std::size_t functions_ = 0;
};

/// Idle workers, ready for the next decomposition.
class Workers {
 public:
  explicit Workers(sandbox::Mode mode);
  std::unique_ptr<WorkerProcess> take();
  void give(std::unique_ptr<WorkerProcess> worker);

 private:
  sandbox::Mode mode_;
  std::string program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerProcess>> idle_;
};

}  // namespace leap::decomp
