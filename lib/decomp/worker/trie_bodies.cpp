#include "trie_bodies.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "frames.hpp"
#include "streams.hpp"
#include "value.hpp"

namespace leap::decomp {
namespace {

constexpr double kSurely = 2;              // times the CPU limit: timed out
constexpr std::size_t kSlack = 16 << 10;   // bytes of output that may be lost in a buffer
constexpr int kLargeArguments = 16 << 10;  // bytes from which on arguments must pay
constexpr int kManyCalls = 4096;           // of a body whose results are told apart; later ones by choice

Bodies* bodies = nullptr;
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

struct Hook {
  PyObject_HEAD int function;
};

PyObject* call_hook(PyObject* self, PyObject* args, PyObject* kwargs) {
  return bodies->called(reinterpret_cast<Hook*>(self)->function, args, kwargs);
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
  return bodies->tick() ? Py_NewRef(Py_None) : nullptr;
}

PyMethodDef tick_method = {"tick", on_tick, METH_VARARGS, nullptr};

}  // namespace

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

Bodies::Bodies(const Source& source, const std::vector<Test>& tests, Shared& shared)
    : source_(source), tests_(tests), shared_(shared) {
  std::vector<std::size_t> sizes;
  for (const auto& texts : source.texts) sizes.push_back(texts.size());
  graph_ = Graph(std::move(sizes));
}

void Bodies::start() {
  bodies = this;
  abandon = PyErr_NewException("builtins.Abandoned", PyExc_BaseException, nullptr);
  auto* recursion = reinterpret_cast<PyTypeObject*>(PyExc_RecursionError);
  auto* memory = reinterpret_cast<PyTypeObject*>(PyExc_MemoryError);
  old_recursion_new = recursion->tp_new, old_memory_new = memory->tp_new;
  recursion->tp_new = new_recursion_error, memory->tp_new = new_memory_error;
  if (PyType_Ready(hook_type()) != 0) broken();
  limit_s_ = std::min(source_.limits.cpu_s, source_.limits.wall_s);
  start_streams(source_.bytes, [](PyObject* text) { bodies->wrote(text); });

  // Parts live in name spaces of their own; what they share is the preamble's names and the declared
  // functions.
  base_ = PyDict_New();
  PyObject* name = PyUnicode_FromString(source_.call ? "solution" : "__main__");
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

bool Bodies::tick() {
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

void Bodies::wrote(PyObject* text) {
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

void Bodies::set_test(std::size_t test, double deadline_s) {
  graph_.clear();
  test_ = test;
  deadline_ = deadline_s;
  count_ = 0;
  stopping_ = false;
  set_stdin(tests_[test].input, source_.bytes);
}

Told Bodies::run(Root& root, const Cell& cell) {
  hints_ = cell;
  picked_.assign(cell.size(), -1);
  for (std::size_t l = 0; l < cell.size(); ++l)
    if (cell[l].count() == 1) picked_[l] = static_cast<int>(cell[l]._Find_first());
  const Told told = run_body(root, 0);
  frames_.clear();
  return told;
}

int Bodies::pick(int function) {
  int& picked = picked_[static_cast<std::size_t>(function)];
  if (picked < 0) picked = static_cast<int>(hints_[static_cast<std::size_t>(function)]._Find_first());
  return picked;
}

/// A call of a declared function, by a body that is running.
PyObject* Bodies::called(int function, PyObject* args, PyObject* kwargs) {
  if (frames_.empty()) broken();
  Frame& frame = frames_.back();
  const auto index = static_cast<std::size_t>(function);
  const PyThreadState* thread = PyThreadState_Get();
  const int depth = std::max(1, thread->recursion_limit - thread->recursion_remaining);
  if (stopping_ || frame.base_depth + depth > kDepthLimit) {
    frame.ended = Kind::kUnknown;
    PyErr_SetNone(abandon);
    return nullptr;
  }
  const bool many = frame.calls >= kManyCalls;
  if (many && frame.fixed[index])
    return PyObject_Call(functions_[index][static_cast<std::size_t>(pick(function))], args, kwargs);
  // What is looked up, or run for the first time, is no work of the body.
  const double before_s = cpu_now();
  ++frame.calls;
  if (frame.node->step == Node::Step::kUnexplored) {
    Node& node = *frame.node;
    node.function = function;
    node.depth = depth;
    std::string key;
    Parts parts;
    bool plain = !many && not_worth_[index] < 16 && write_value(args, key, parts);
    if (plain)
      plain = kwargs && PyDict_GET_SIZE(kwargs) > 0 ? write_value(kwargs, key, parts) : (key += 'N', true);
    node.step = plain ? Node::Step::kCall : Node::Step::kChoice;
    if (plain) node.group = graph_.group_of(function, std::move(key), stdin_position());
  }
  if (frame.node->function != function || frame.node->step == Node::Step::kEnd) broken();
  const int choice = pick(function);
  Node& node = *frame.node;
  const auto at = static_cast<std::size_t>(choice);
  if (node.step == Node::Step::kChoice) frame.fixed[index] = true;
  bool here = node.step == Node::Step::kChoice || (!node.by_choice.empty() && node.by_choice[at]);
  if (!here) {
    const Told told = evaluate(graph_.root_of(*node.group, choice), frame.base_depth + depth);
    if (stopping_) {
      frame.ended = Kind::kUnknown;
      PyErr_SetNone(abandon);
      return nullptr;
    }
    here = graph_.result(told.result).kind == Kind::kInline;
    if (!here) {
      const Result& result = graph_.result(told.result);
      frame.node = graph_.child(node, told.result);
      frame.nested_s += told.cost_s;
      frame.depth = std::max(frame.depth, node.depth + told.depth);
      frame.out += result.out;
      set_stdin_position(result.position);
      if (node.group->arguments->size() > kLargeArguments &&
          told.cost_s < 1e-8 * static_cast<double>(node.group->arguments->size()))
        ++not_worth_[index];
      PyObject* value = nullptr;
      if (result.kind == Kind::kTimeout || result.kind == Kind::kUnknown) {
        frame.ended = result.kind;
        PyErr_SetNone(abandon);
      } else {
        std::size_t from = 0;
        value = read_value(result.value, from);
        if (value && result.kind == Kind::kRaise) {
          PyErr_SetObject(result.error, value);
          Py_CLEAR(value);
        }
      }
      frame.elsewhere_s += cpu_now() - before_s;
      return value;
    }
  }
  frame.node = graph_.chosen(node, choice);
  frame.elsewhere_s += cpu_now() - before_s;
  return PyObject_Call(functions_[index][at], args, kwargs);
}

/// What a call comes to with the choices picked, running bodies as needed.
Told Bodies::evaluate(Root& root, int base_depth) {
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
        node = graph_.chosen(*node, pick(node->function));
        break;
      case Node::Step::kCall: {
        const int choice = pick(node->function);
        if (!node->by_choice.empty() && node->by_choice[static_cast<std::size_t>(choice)]) {
          node = graph_.chosen(*node, choice);
          break;
        }
        const Told inner = evaluate(graph_.root_of(*node->group, choice), base_depth + node->depth);
        if (stopping_) return inner;
        if (graph_.result(inner.result).kind == Kind::kInline) {
          node = graph_.chosen(*node, choice);
          break;
        }
        told.cost_s += inner.cost_s;
        told.depth = std::max(told.depth, node->depth + inner.depth);
        node = graph_.child(*node, inner.result);
        break;
      }
    }
  }
}

/// The main program: its top level, and the call of the entry point where the check makes one.
PyObject* Bodies::run_main(std::string& value) {
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

Told Bodies::run_body(Root& root, int base_depth) {
  ++count_;
  ++shared_.beat;
  Group& group = *root.group;
  frames_.emplace_back();
  Frame& frame = frames_.back();
  frame.node = &root.first;
  frame.base_depth = base_depth;
  frame.fixed.assign(functions_.size(), false);
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
    end.result = told.result = graph_.intern(std::move(result));
  }
  frames_.pop_back();
  return told;
}

}  // namespace leap::decomp
