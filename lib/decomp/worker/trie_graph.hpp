/// What a trie is made of: calls of functions with their arguments, and what these came to.
#pragma once

#include <Python.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace leap::decomp {

enum class Kind : std::uint8_t { kReturn, kRaise, kTimeout, kUnknown, kInline };

/// What a call came to, as its caller sees it.
struct Result {
  Kind kind;
  std::string value;          ///< of a return, or the arguments of an exception
  PyObject* error = nullptr;  ///< type of an exception
  std::string out;            ///< what was written to stdout
  Py_ssize_t position = 0;    ///< in stdin, afterwards
};

struct Group;

struct Node {
  enum class Step : std::uint8_t { kUnexplored, kCall, kChoice, kEnd } step = Step::kUnexplored;
  int function = -1;
  int depth = 0;             ///< of Python calls, where the call was made
  Group* group = nullptr;    ///< kCall
  std::uint32_t result = 0;  ///< kEnd
  double own_s = 0;          ///< kEnd: CPU of the body itself
  std::vector<std::pair<std::uint32_t, Node*>> by_result;
  std::vector<Node*> by_choice;
  /// kCall: the result of an implementation that depends on no other choice.
  struct Known {
    bool known = false;
    std::uint32_t result = 0;
    double cost_s = 0;
    int depth = 0;
  };
  std::vector<Known> known;
};

struct Root {
  Group* group = nullptr;
  int choice = 0;
  Node first;
};

/// Calls of a function with the same arguments, and stdin read as far.
struct Group {
  int function = -1;  ///< -1: the main program
  const std::string* arguments = nullptr;
  Py_ssize_t position = 0;
  std::vector<std::unique_ptr<Root>> roots;
};

/// All calls and results of one test.
class Graph {
 public:
  /// `sizes`: implementations of each function.
  explicit Graph(std::vector<std::size_t> sizes = {}) : sizes_(std::move(sizes)) {}

  void clear();
  std::size_t size_of(int function) const { return sizes_[static_cast<std::size_t>(function)]; }
  /// Of the main program, which the main group of a cleared graph holds.
  Root& main_root() { return root_of(*main_, 0); }
  static Root& root_of(Group& group, int choice);
  /// Calls of `function` with the arguments `key`, where stdin has been read up to `position`.
  Group* group_of(int function, std::string key, Py_ssize_t position);
  /// The node after a call's result, or after the choice of an implementation.
  Node* child(Node& node, std::uint32_t result);
  Node* chosen(Node& node, int choice);
  std::uint32_t intern(Result result);
  const Result& result(std::uint32_t id) const { return results_[id]; }

 private:
  std::vector<std::size_t> sizes_;
  std::deque<Node> nodes_;
  std::unordered_map<std::string, std::unique_ptr<Group>> groups_;
  std::unique_ptr<Group> main_;
  std::vector<Result> results_;
  std::unordered_map<std::string, std::uint32_t> result_ids_;
};

}  // namespace leap::decomp
