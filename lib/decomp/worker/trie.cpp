#include "trie.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "decomp/outcomes.hpp"
#include "frames.hpp"
#include "streams.hpp"
#include "value.hpp"

namespace leap::decomp {
namespace {

constexpr int kOwnDepth = 400;    // of Python calls inside one body, calls of declared functions not counted
constexpr int kDepthLimit = 950;  // of a whole program; Python's own is 1000
constexpr double kUnsure = 0.5;   // of the CPU limit: above it, a program is run by itself
constexpr double kSurely = 2;     // times the CPU limit: timed out
constexpr std::size_t kSlack = 16 << 10;   // bytes of output that may be lost in a buffer
constexpr int kLargeArguments = 16 << 10;  // bytes from which on arguments must pay

double cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double wall_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

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

struct Frame {
  Node* node = nullptr;
  double begin_s = 0, elsewhere_s = 0;  ///< CPU clock at the start; spent in bodies that ran inside
  double nested_s = 0;                  ///< cost of the calls that were made, run or looked up
  int base_depth = 0, depth = kOwnDepth;
  std::string out;
  Kind ended = Kind::kReturn;  ///< kTimeout or kUnknown: it is being abandoned
};

struct Told {
  std::uint32_t result = 0;
  double cost_s = 0;
  int depth = 0;
  std::uint64_t depends = 0;  ///< functions whose choice mattered
};

class Trie;
Trie* trie = nullptr;
PyObject* abandon = nullptr;   // the exception that leaves a body
std::uint64_t odd_events = 0;  // RecursionErrors and MemoryErrors ever made

newfunc old_recursion_new = nullptr, old_memory_new = nullptr;

PyObject* new_recursion_error(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  ++odd_events;
  return old_recursion_new(type, args, kwargs);
}

PyObject* new_memory_error(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  ++odd_events;
  return old_memory_new(type, args, kwargs);
}

class Trie {
 public:
  Trie(const Source& source, const std::vector<Test>& tests, Shared& shared)
      : source_(source), tests_(tests), shared_(shared) {}

  void start();
  Fields explore(std::size_t test, std::string_view cells, double budget_s);
  PyObject* called(int function, PyObject* args, PyObject* kwargs);
  /// Every few milliseconds of CPU time. False with an exception set: the body ends here.
  bool tick();
  void wrote(PyObject* text);

 private:
  struct Walk {
    enum class What { kEnd, kSplit, kRun } what;
    Told told;
    std::vector<Cell> parts;
    Root* root = nullptr;
    Cell hints;
  };

  std::size_t size_of(int function) const { return source_.texts[static_cast<std::size_t>(function)].size(); }
  Node* new_node() { return &nodes_.emplace_back(); }
  Root& root_of(Group& group, int choice);
  Group* group_of(int function, std::string key);
  Node* child(Node& node, std::uint32_t result);
  Node* chosen(Node& node, int choice);
  std::uint32_t intern(Result result);
  int pick(int function);
  Told evaluate(Root& root, int base_depth);
  Told run_body(Root& root, int base_depth);
  PyObject* run_main(std::string& value);
  Walk walk(Root& root, const Cell& cell);
  char letter(const Told& told) const;
  [[noreturn]] void broken() { _exit(9); }

  const Source& source_;
  const std::vector<Test>& tests_;
  Shared& shared_;
  PyObject* base_ = nullptr;  ///< names that all parts have
  std::vector<PyObject*> hooks_;
  std::vector<std::vector<PyObject*>> functions_;
  double limit_s_ = 10, deadline_ = 0;
  std::size_t test_ = 0;
  bool stopping_ = false;

  std::deque<Node> nodes_;
  std::unordered_map<std::string, std::unique_ptr<Group>> groups_;
  std::unique_ptr<Group> main_;
  std::vector<Result> results_;
  std::unordered_map<std::string, std::uint32_t> result_ids_;
  std::deque<Frame> frames_;
  Cell hints_;
  std::vector<int> picked_;
  std::vector<int> not_worth_;  ///< calls whose large arguments did not pay, a function
  std::uint64_t bodies_ = 0;
};

struct Hook {
  PyObject_HEAD int function;
};

PyObject* call_hook(PyObject* self, PyObject* args, PyObject* kwargs) {
  return trie->called(reinterpret_cast<Hook*>(self)->function, args, kwargs);
}

PyTypeObject* hook_type() {
  static PyTypeObject type = [] {
    PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "function";
    t.tp_basicsize = sizeof(Hook);
    t.tp_flags = Py_TPFLAGS_DEFAULT;
    t.tp_call = call_hook;
    return t;
  }();
  return &type;
}

PyObject* on_tick(PyObject*, PyObject*) {
  return trie->tick() ? Py_NewRef(Py_None) : nullptr;
}

PyMethodDef tick_method = {"tick", on_tick, METH_VARARGS, nullptr};

void Trie::start() {
  trie = this;
  abandon = PyErr_NewException("builtins.Abandoned", PyExc_BaseException, nullptr);
  auto* recursion = reinterpret_cast<PyTypeObject*>(PyExc_RecursionError);
  auto* memory = reinterpret_cast<PyTypeObject*>(PyExc_MemoryError);
  old_recursion_new = recursion->tp_new, old_memory_new = memory->tp_new;
  recursion->tp_new = new_recursion_error, memory->tp_new = new_memory_error;
  if (PyType_Ready(hook_type()) != 0) broken();
  limit_s_ = std::min(source_.limits.cpu_s, source_.limits.wall_s);
  start_streams(source_.bytes, [](PyObject* text) { trie->wrote(text); });

  // Parts live in name spaces of their own; what they share is the preamble's names and the declared
  // functions.
  base_ = PyDict_New();
  PyObject* name = PyUnicode_FromString("__main__");
  PyDict_SetItemString(base_, "__name__", name);
  Py_DECREF(name);
  PyDict_SetItemString(base_, "__builtins__", PyImport_AddModule("builtins"));
  auto run = [&](PyObject* code, PyObject* space) {
    PyObject* done = code ? PyEval_EvalCode(code, space, space) : Py_NewRef(Py_None);
    if (!done) broken();
    Py_DECREF(done);
  };
  auto hook = [&](PyObject* space) {
    for (std::size_t i = 0; i < hooks_.size(); ++i)
      PyDict_SetItemString(space, source_.names[i].c_str(), hooks_[i]);
  };
  for (std::size_t i = 0; i < source_.names.size(); ++i) {
    auto* one = PyObject_New(Hook, hook_type());
    one->function = static_cast<int>(i);
    hooks_.push_back(reinterpret_cast<PyObject*>(one));
  }
  run(source_.preamble_code, base_);
  hook(base_);
  for (std::size_t i = 0; i < source_.names.size(); ++i) {
    functions_.emplace_back();
    for (PyObject* code : source_.codes[i]) {
      PyObject* function = nullptr;
      if (code) {
        PyObject* space = PyDict_Copy(base_);
        run(code, space);
        function = PyDict_GetItemString(space, source_.names[i].c_str());
        if (!function) broken();
        Py_INCREF(function);
        hook(space);
      }
      functions_.back().push_back(function);
    }
  }
  not_worth_.assign(source_.names.size(), 0);
  Py_SetRecursionLimit(kOwnDepth);
  PyObject* signals = PyImport_ImportModule("_signal");
  PyObject* handler = PyCFunction_New(&tick_method, nullptr);
  PyObject* done = signals ? PyObject_CallMethod(signals, "signal", "iO", SIGPROF, handler) : nullptr;
  if (!done) broken();
  const itimerval every{{0, 10000}, {0, 10000}};
  setitimer(ITIMER_PROF, &every, nullptr);
}

bool Trie::tick() {
  ++shared_.beat;
  if (frames_.empty()) return true;
  Frame& frame = frames_.back();
  if (deadline_ > 0 && wall_now() > deadline_) stopping_ = true;
  const double spent = cpu_now() - frame.begin_s - frame.elsewhere_s + frame.nested_s;
  if (!stopping_ && spent <= kSurely * limit_s_) return true;
  frame.ended = stopping_ ? Kind::kUnknown : Kind::kTimeout;
  PyErr_SetNone(abandon);
  return false;
}

void Trie::wrote(PyObject* text) {
  if (frames_.empty()) return;
  Frame& frame = frames_.back();
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (!bytes) {
    // Lone surrogates: the real stream decides.
    PyErr_Clear();
    ++odd_events;
    return;
  }
  // What is beyond the limit is counted no further.
  const std::size_t most = (static_cast<std::size_t>(source_.limits.output_kb) << 10) + 2 * kSlack;
  if (frame.out.size() <= most) frame.out.append(bytes, static_cast<std::size_t>(size));
}

Root& Trie::root_of(Group& group, int choice) {
  auto& root = group.roots[static_cast<std::size_t>(choice)];
  if (!root) {
    root = std::make_unique<Root>();
    root->group = &group;
    root->choice = choice;
  }
  return *root;
}

Group* Trie::group_of(int function, std::string key) {
  put(key, stdin_position());
  put(key, function);
  const auto [found, fresh] = groups_.emplace(std::move(key), nullptr);
  if (fresh) {
    found->second = std::make_unique<Group>();
    found->second->function = function;
    found->second->arguments = &found->first;
    found->second->position = stdin_position();
    found->second->roots.resize(size_of(function));
  }
  return found->second.get();
}

Node* Trie::child(Node& node, std::uint32_t result) {
  for (const auto& [id, kid] : node.by_result)
    if (id == result) return kid;
  node.by_result.emplace_back(result, new_node());
  return node.by_result.back().second;
}

Node* Trie::chosen(Node& node, int choice) {
  if (node.by_choice.empty()) node.by_choice.resize(size_of(node.function));
  Node*& kid = node.by_choice[static_cast<std::size_t>(choice)];
  if (!kid) kid = new_node();
  return kid;
}

std::uint32_t Trie::intern(Result result) {
  std::string key;
  put(key, result.kind);
  put(key, result.error);
  put(key, result.position);
  put(key, result.value.size());
  key += result.value;
  key += result.out;
  const auto [found, fresh] =
      result_ids_.emplace(std::move(key), static_cast<std::uint32_t>(results_.size()));
  if (fresh) results_.push_back(std::move(result));
  return found->second;
}

int Trie::pick(int function) {
  int& picked = picked_[static_cast<std::size_t>(function)];
  if (picked < 0) picked = static_cast<int>(hints_[static_cast<std::size_t>(function)]._Find_first());
  return picked;
}

/// A call of a declared function, by a body that is running.
PyObject* Trie::called(int function, PyObject* args, PyObject* kwargs) {
  if (frames_.empty()) broken();
  Frame& frame = frames_.back();
  const PyThreadState* thread = PyThreadState_Get();
  const int depth = std::max(1, thread->recursion_limit - thread->recursion_remaining);
  if (stopping_ || frame.base_depth + depth > kDepthLimit) {
    frame.ended = Kind::kUnknown;
    PyErr_SetNone(abandon);
    return nullptr;
  }
  if (frame.node->step == Node::Step::kUnexplored) {
    Node& node = *frame.node;
    node.function = function;
    node.depth = depth;
    std::string key;
    Parts parts;
    bool plain = not_worth_[static_cast<std::size_t>(function)] < 16 && write_value(args, key, parts);
    if (plain)
      plain = kwargs && PyDict_GET_SIZE(kwargs) > 0 ? write_value(kwargs, key, parts) : (key += 'N', true);
    node.step = plain ? Node::Step::kCall : Node::Step::kChoice;
    if (plain) node.group = group_of(function, std::move(key));
  }
  if (frame.node->function != function || frame.node->step == Node::Step::kEnd) broken();
  const int choice = pick(function);
  Node& node = *frame.node;
  const auto at = static_cast<std::size_t>(choice);
  bool here = node.step == Node::Step::kChoice || (!node.by_choice.empty() && node.by_choice[at]);
  if (!here) {
    const double before_s = cpu_now();
    const Told told = evaluate(root_of(*node.group, choice), frame.base_depth + depth);
    frame.elsewhere_s += cpu_now() - before_s;
    if (stopping_) {
      frame.ended = Kind::kUnknown;
      PyErr_SetNone(abandon);
      return nullptr;
    }
    here = results_[told.result].kind == Kind::kInline;
    if (!here) {
      const Result& result = results_[told.result];
      frame.node = child(node, told.result);
      frame.nested_s += told.cost_s;
      frame.depth = std::max(frame.depth, node.depth + told.depth);
      frame.out += result.out;
      set_stdin_position(result.position);
      if (node.group->arguments->size() > kLargeArguments &&
          told.cost_s < 1e-8 * static_cast<double>(node.group->arguments->size()))
        ++not_worth_[static_cast<std::size_t>(function)];
      if (result.kind == Kind::kTimeout || result.kind == Kind::kUnknown) {
        frame.ended = result.kind;
        PyErr_SetNone(abandon);
        return nullptr;
      }
      std::size_t from = 0;
      PyObject* value = read_value(result.value, from);
      if (!value || result.kind == Kind::kReturn) return value;
      PyErr_SetObject(result.error, value);
      Py_DECREF(value);
      return nullptr;
    }
  }
  frame.node = chosen(node, choice);
  return PyObject_Call(functions_[static_cast<std::size_t>(function)][at], args, kwargs);
}

/// What a call comes to with the choices picked, running bodies as needed.
Told Trie::evaluate(Root& root, int base_depth) {
  Node* node = &root.first;
  Told told;
  told.depth = kOwnDepth;
  while (true) {
    switch (node->step) {
      case Node::Step::kUnexplored:
        return run_body(root, base_depth);
      case Node::Step::kEnd:
        told.result = node->result;
        told.cost_s += node->own_s;
        return told;
      case Node::Step::kChoice:
        node = chosen(*node, pick(node->function));
        break;
      case Node::Step::kCall: {
        const int choice = pick(node->function);
        if (!node->by_choice.empty() && node->by_choice[static_cast<std::size_t>(choice)]) {
          node = chosen(*node, choice);
          break;
        }
        const Told inner = evaluate(root_of(*node->group, choice), base_depth + node->depth);
        if (stopping_) return inner;
        if (results_[inner.result].kind == Kind::kInline) {
          node = chosen(*node, choice);
          break;
        }
        told.cost_s += inner.cost_s;
        told.depth = std::max(told.depth, node->depth + inner.depth);
        node = child(*node, inner.result);
        break;
      }
    }
  }
}

/// The main program: its top level, and the call of the entry point where the check makes one.
PyObject* Trie::run_main(std::string& value) {
  PyObject* space = PyDict_Copy(base_);
  if (!space) return nullptr;
  PyObject* done = source_.main_code ? PyEval_EvalCode(source_.main_code, space, space) : Py_NewRef(Py_None);
  if (done && source_.call) {
    Py_DECREF(done);
    const Test& test = tests_[test_];
    PyObject* entry = find_entry(space, source_.entry);
    PyObject* args = entry ? read_marshal(test.args) : nullptr;
    PyObject* kwargs = args ? read_marshal(test.kwargs) : nullptr;
    PyObject* tuple = kwargs ? PySequence_Tuple(args) : nullptr;
    done = tuple ? PyObject_Call(entry, tuple, kwargs) : nullptr;
    if (done) {
      if (!plain_marshal(done, value)) value.clear();
    }
    Py_XDECREF(entry);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    Py_XDECREF(tuple);
  }
  // What the program leaves goes now, as it would at its end.
  Py_DECREF(space);
  return done;
}

Told Trie::run_body(Root& root, int base_depth) {
  ++bodies_;
  ++shared_.beat;
  Group& group = *root.group;
  frames_.emplace_back();
  Frame& frame = frames_.back();
  frame.node = &root.first;
  frame.base_depth = base_depth;
  set_stdin_position(group.position);
  PyThreadState* thread = PyThreadState_Get();
  const int remaining = thread->recursion_remaining;
  thread->recursion_remaining = thread->recursion_limit;
  const std::uint64_t odd_before = odd_events;
  PyObject *value = nullptr, *args = nullptr, *kwargs = nullptr;
  std::string handed;
  if (group.function < 0) {
    frame.begin_s = cpu_now();
    value = run_main(handed);
  } else {
    std::size_t at = 0;
    args = read_value(*group.arguments, at);
    kwargs = args ? read_value(*group.arguments, at) : nullptr;
    frame.begin_s = cpu_now();
    if (kwargs)
      value = PyObject_Call(
          functions_[static_cast<std::size_t>(group.function)][static_cast<std::size_t>(root.choice)], args,
          kwargs == Py_None ? nullptr : kwargs);
  }
  const double own_s = cpu_now() - frame.begin_s - frame.elsewhere_s;
  thread->recursion_remaining = remaining;

  Told told;
  Result result{Kind::kReturn, {}, nullptr, {}, stdin_position()};
  auto unknown = [&] { result = {Kind::kUnknown, {}, nullptr, {}, 0}; };
  PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
  if (!value) {
    PyErr_Fetch(&type, &error, &trace);
    if (type && PyErr_GivenExceptionMatches(type, PyExc_RecursionError)) ++odd_events;
    PyErr_NormalizeException(&type, &error, &trace);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const bool large = usage.ru_maxrss > source_.limits.memory_kb / 2;
  if (frame.ended == Kind::kTimeout && odd_events == odd_before) {
    result = {Kind::kTimeout, {}, nullptr, frame.out, 0};
  } else if (frame.ended != Kind::kReturn || odd_events != odd_before || large ||
             base_depth + frame.depth > kDepthLimit + kOwnDepth) {
    unknown();
  } else if (group.function < 0) {
    result.out = frame.out;
    if (value && source_.call)
      result.value = handed;
    else if (!value)
      result.kind = Kind::kRaise,
      result.value = std::string(
          1, static_cast<char>(PyErr_GivenExceptionMatches(type, PyExc_SystemExit) ? exit_status(error) : 1));
  } else {
    // Is it all in the values: arguments unchanged, and nothing of them in the result?
    std::string again;
    Parts parts;
    bool plain = write_value(args, again, parts);
    if (plain && kwargs != Py_None) plain = write_value(kwargs, again, parts);
    if (plain && kwargs == Py_None) again += 'N';
    plain = plain && group.arguments->compare(0, again.size(), again) == 0 &&
            group.arguments->size() == again.size() + sizeof(Py_ssize_t) + sizeof(int);
    if (plain && value) {
      plain = write_value(value, result.value, parts);
    } else if (plain) {
      const bool builtin = !(reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_HEAPTYPE);
      PyObject* error_args = builtin && PyErr_GivenExceptionMatches(type, PyExc_BaseException) &&
                                     reinterpret_cast<PyObject*>(Py_TYPE(error)) == type
                                 ? PyObject_GetAttrString(error, "args")
                                 : nullptr;
      result.kind = Kind::kRaise;
      result.error = type;
      plain = error_args && PyTuple_CheckExact(error_args) && write_value(error_args, result.value, parts) &&
              !PyErr_GivenExceptionMatches(type, PyExc_OSError) &&
              !PyErr_GivenExceptionMatches(type, PyExc_ImportError) &&
              !PyErr_GivenExceptionMatches(type, PyExc_SyntaxError);
      Py_XDECREF(error_args);
      PyErr_Clear();
    }
    if (plain)
      result.out = frame.out;
    else
      result = {Kind::kInline, {}, nullptr, {}, 0};
  }
  Py_XDECREF(value);
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
  PyErr_Clear();
  Node& end = *frame.node;
  told.cost_s = own_s + frame.nested_s;
  told.depth = frame.depth;
  const bool stopped = stopping_;
  if (!stopped) {
    if (end.step != Node::Step::kUnexplored) broken();
    end.step = Node::Step::kEnd;
    end.own_s = own_s;
    end.result = told.result = intern(std::move(result));
  }
  frames_.pop_back();
  return told;
}

/// Follows all programs of a cell as far as they go together.
Trie::Walk Trie::walk(Root& root, const Cell& cell) {
  Walk out{Walk::What::kEnd, {}, {}, nullptr, {}};
  Told& told = out.told;
  told.depth = kOwnDepth;
  Node* node = &root.first;
  while (true) {
    if (node->step == Node::Step::kUnexplored) {
      out.what = Walk::What::kRun;
      out.root = &root;
      out.hints = cell;
      return out;
    }
    if (node->step == Node::Step::kEnd) {
      told.result = node->result;
      told.cost_s += node->own_s;
      return out;
    }
    const auto function = static_cast<std::size_t>(node->function);
    const Set& choices = cell[function];
    if (node->step == Node::Step::kChoice) {
      told.depends |= std::uint64_t{1} << (function & 63);
      if (choices.count() > 1) {
        out.what = Walk::What::kSplit;
        for (std::size_t j = choices._Find_first(); j < choices.size(); j = choices._Find_next(j)) {
          out.parts.push_back(cell);
          out.parts.back()[function].reset();
          out.parts.back()[function].set(j);
        }
        return out;
      }
      node = chosen(*node, static_cast<int>(choices._Find_first()));
      continue;
    }
    // A call: the implementations that are allowed, by what they return.
    struct Same {
      bool here;
      std::uint32_t id;
      Set choices;
      double cost_s;
      int depth;
    };
    std::vector<Same> groups;
    if (node->known.empty()) node->known.resize(size_of(node->function));
    std::uint64_t depends = std::uint64_t{1} << (function & 63);
    for (std::size_t j = choices._Find_first(); j < choices.size(); j = choices._Find_next(j)) {
      Same same{false, 0, {}, 0, 0};
      Node::Known& known = node->known[j];
      if (!node->by_choice.empty() && node->by_choice[j]) {
        same.here = true;
        same.id = static_cast<std::uint32_t>(j);
      } else if (known.known) {
        same.id = known.result;
        same.cost_s = known.cost_s;
        same.depth = known.depth;
      } else {
        Cell inner_cell = cell;
        inner_cell[function].reset();
        inner_cell[function].set(j);
        Walk inner = walk(root_of(*node->group, static_cast<int>(j)), inner_cell);
        if (inner.what == Walk::What::kRun) return inner;
        if (inner.what == Walk::What::kSplit) {
          Cell rest = cell;
          rest[function].reset(j);
          if (rest[function].any()) inner.parts.push_back(std::move(rest));
          return inner;
        }
        depends |= inner.told.depends;
        if (results_[inner.told.result].kind == Kind::kInline) {
          chosen(*node, static_cast<int>(j));
          same.here = true;
          same.id = static_cast<std::uint32_t>(j);
        } else {
          same.id = inner.told.result;
          same.cost_s = inner.told.cost_s;
          same.depth = inner.told.depth;
          if (inner.told.depends == 0) known = {true, same.id, same.cost_s, same.depth};
        }
      }
      bool placed = false;
      for (Same& other : groups) {
        if (other.here != same.here || other.id != same.id) continue;
        other.choices.set(j);
        other.cost_s = std::max(other.cost_s, same.cost_s);
        other.depth = std::max(other.depth, same.depth);
        placed = true;
      }
      if (!placed) {
        same.choices.set(j);
        groups.push_back(same);
      }
    }
    if (groups.size() != 1) {
      out.what = Walk::What::kSplit;
      for (const Same& same : groups) {
        out.parts.push_back(cell);
        out.parts.back()[function] = same.choices;
      }
      return out;
    }
    const Same& same = groups[0];
    told.depends |= depends;
    told.cost_s += same.cost_s;
    told.depth = std::max(told.depth, node->depth + same.depth);
    node = same.here ? chosen(*node, static_cast<int>(same.id)) : child(*node, same.id);
  }
}

/// ' ' for what ended normally and is to be compared, '?' for what is to be run by itself.
char Trie::letter(const Told& told) const {
  const Result& result = results_[told.result];
  const std::size_t limit = static_cast<std::size_t>(source_.limits.output_kb) << 10;
  if (result.out.size() > limit + kSlack) return 'O';
  if (result.kind == Kind::kUnknown || result.kind == Kind::kInline || result.out.size() > limit ||
      told.depth > kDepthLimit)
    return '?';
  if (result.kind == Kind::kTimeout) return 'T';
  if (told.cost_s > kUnsure * limit_s_) return '?';
  if (result.kind == Kind::kRaise) return result.value[0] == 0 && !source_.call ? ' ' : 'E';
  return ' ';
}

Fields Trie::explore(std::size_t test, std::string_view packed_cells, double budget_s) {
  nodes_.clear();
  groups_.clear();
  results_.clear();
  result_ids_.clear();
  test_ = test;
  bodies_ = 0;
  stopping_ = false;
  deadline_ = budget_s > 0 ? wall_now() + budget_s : 0;
  set_stdin(tests_[test].input, source_.bytes);
  main_ = std::make_unique<Group>();
  main_->roots.resize(1);
  Root& root = root_of(*main_, 0);

  const std::size_t n = source_.names.size();
  std::string found;
  Fields results;
  std::map<std::pair<std::uint32_t, char>, std::uint32_t> told_before;
  for (std::uint32_t index = 0; !packed_cells.empty(); ++index) {
    Cell whole;
    for (std::size_t l = 0; l < n; ++l) whole.push_back(take<Set>(packed_cells));
    std::vector<Cell> todo{whole};
    std::uint64_t bodies_before = 0;
    int stuck = 0;
    while (!todo.empty() && !stopping_) {
      if (deadline_ > 0 && wall_now() > deadline_) {
        stopping_ = true;
        break;
      }
      const Cell cell = std::move(todo.back());
      todo.pop_back();
      Walk way = walk(root, cell);
      if (way.what == Walk::What::kSplit) {
        for (Cell& part : way.parts) todo.push_back(std::move(part));
      } else if (way.what == Walk::What::kRun) {
        hints_ = way.hints;
        picked_.assign(n, -1);
        for (std::size_t l = 0; l < n; ++l)
          if (hints_[l].count() == 1) picked_[l] = static_cast<int>(hints_[l]._Find_first());
        run_body(*way.root, 0);
        frames_.clear();
        stuck = bodies_ == bodies_before ? stuck + 1 : 0;
        if (stuck > 100) broken();
        bodies_before = bodies_;
        todo.push_back(cell);
      } else {
        const char what = letter(way.told);
        const Result& result = results_[way.told.result];
        const auto [known, fresh] = told_before.emplace(std::make_pair(way.told.result, what),
                                                        static_cast<std::uint32_t>(results.size()));
        if (fresh)
          results.push_back(std::string(1, what) + (what != ' '    ? ""
                                                    : source_.call ? result.value
                                                                   : result.out));
        put(found, index);
        put(found, known->second);
        for (const Set& set : cell) put(found, set);
      }
    }
    if (stopping_) break;
  }
  Fields out = {"found", "0", std::to_string(bodies_), std::move(found)};
  out.insert(out.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  return out;
}

}  // namespace

void serve_trie(const Source& source, const std::vector<Test>& tests, Shared& shared, int socket) {
  static Trie own(source, tests, shared);
  own.start();
  Fields request;
  while (read_frame(socket, request)) {
    if (request.size() != 4) break;
    const Fields answer = own.explore(static_cast<std::size_t>(std::atoi(request[1].c_str())), request[2],
                                      std::atof(request[3].c_str()));
    if (!write_all(socket, packed(answer))) break;
  }
  _exit(0);
}

}  // namespace leap::decomp
