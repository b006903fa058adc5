/// Runs the bodies of functions, and the main program, on values: each stops being run where its calls have
/// been answered so before.
#pragma once

#include "program.hpp"
// after Python.h
#include <deque>
#include <string>
#include <vector>

#include "decomp/outcomes.hpp"
#include "trie_graph.hpp"

namespace leap::decomp {

constexpr int kOwnDepth = 400;    // of Python calls inside one body, calls of declared functions not counted
constexpr int kDepthLimit = 950;  // of a whole program; Python's own is 1000

double cpu_now();
double wall_now();

struct Told {
  std::uint32_t result = 0;
  double cost_s = 0;
  int depth = 0;
  std::uint64_t depends = 0;  ///< functions whose choice mattered
};

/// One a process: the interpreter's hooks lead to it.
class Bodies {
 public:
  Bodies(const Source& source, const std::vector<Test>& tests, Shared& shared);

  /// Makes the functions and hooks.
  void start();
  /// Another test, of which nothing is known; `deadline_s` by wall_now(), or 0.
  void set_test(std::size_t test, double deadline_s);
  /// Runs a body for programs of a cell, with one implementation of each function of it.
  Told run(Root& root, const Cell& cell);
  /// No body is run any more: the deadline is over, or `stop` was called.
  bool stopping() const { return stopping_; }
  void stop() { stopping_ = true; }
  std::uint64_t count() const { return count_; }
  double limit_s() const { return limit_s_; }
  Graph& graph() { return graph_; }

  PyObject* called(int function, PyObject* args, PyObject* kwargs);
  /// Every few milliseconds of CPU time. False with an exception set: the body ends here.
  bool tick();
  void wrote(PyObject* text);

 private:
  struct Frame {
    Node* node = nullptr;
    double begin_s = 0, elsewhere_s = 0;  ///< CPU clock at the start; spent in bodies that ran inside
    double nested_s = 0;                  ///< cost of the calls that were made, run or looked up
    int base_depth = 0, depth = kOwnDepth;
    int calls = 0;            ///< that have nodes
    std::vector<bool> fixed;  ///< functions that a choice was made of, by a node of its own
    std::string out;
    Kind ended = Kind::kReturn;  ///< kTimeout or kUnknown: it is being abandoned
  };

  int pick(int function);
  Told evaluate(Root& root, int base_depth);
  Told run_body(Root& root, int base_depth);
  PyObject* run_main(std::string& value);
  [[noreturn]] void broken() { _exit(9); }

  const Source& source_;
  const std::vector<Test>& tests_;
  Shared& shared_;
  Graph graph_;
  PyObject* base_ = nullptr;  ///< names that all parts have
  std::vector<PyObject*> hooks_;
  std::vector<std::vector<PyObject*>> functions_;
  double limit_s_ = 10, deadline_ = 0;
  std::size_t test_ = 0;
  bool stopping_ = false;
  std::deque<Frame> frames_;
  Cell hints_;
  std::vector<int> picked_;
  std::vector<int> not_worth_;  ///< calls whose large arguments did not pay, a function
  std::uint64_t count_ = 0;
};

}  // namespace leap::decomp
