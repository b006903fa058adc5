#include "tree.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "frames.hpp"
#include "process.hpp"

namespace leap::decomp {
namespace {

struct Tree {
  const Source* source = nullptr;
  const std::vector<Cell>* cells = nullptr;
  Shared* shared = nullptr;
  int result_fd = -1;
  double deadline_s = 0;
  double spent_s = 0;  ///< CPU before this process was forked
  std::vector<std::int32_t> choice;
  PyObject* space = nullptr;
};

Tree tree;

newfunc old_recursion_new = nullptr;

/// Stubs cost a little depth, so a program that comes to the limit is run by itself.
PyObject* new_recursion_error(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  tree.shared->flags |= kUnsure;
  return old_recursion_new(type, args, kwargs);
}

double clock_s(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

[[noreturn]] void unsure() {
  tree.shared->flags |= kUnsure;
  _exit(9);
}

std::string content(int fd, std::size_t limit) {
  struct stat s {};
  if (fstat(fd, &s) != 0) return {};
  std::string out(std::min(limit, static_cast<std::size_t>(s.st_size)), '\0');
  const ssize_t n = pread(fd, out.data(), out.size(), 0);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

int new_file() {
  const int fd = open(work_dir.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) unsure();
  return fd;
}

/// The implementations of a function that programs with the choices so far may have.
Set allowed(std::size_t function) {
  Set out;
  for (const Cell& cell : *tree.cells) {
    bool inside = true;
    for (std::size_t l = 0; inside && l < cell.size(); ++l)
      inside = tree.choice[l] < 0 || cell[l][static_cast<std::size_t>(tree.choice[l])];
    if (inside) out |= cell[function];
  }
  return out;
}

void write_leaf(std::string& out, const Leaf& leaf) {
  for (const std::int32_t j : leaf.choice) put(out, j);
  put(out, leaf.end);
  put(out, leaf.flags);
  put(out, leaf.code);
  put(out, leaf.cpu_s);
  put(out, leaf.rss_kb);
  put(out, static_cast<std::uint32_t>(leaf.output.size()));
  out += leaf.output;
}

/// Waits for a child that may itself become one that only waits.
Leaf wait_for(pid_t pid, int out_fd, int result_fd) {
  const Limits& limits = tree.source->limits;
  const double begin = clock_s(CLOCK_MONOTONIC);
  const int watch = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  Leaf leaf;
  leaf.choice = tree.choice;
  int status = 0;
  rusage usage{};
  bool stopped = false;
  for (int wait_ms = 5;; wait_ms = std::min(50, wait_ms * 2)) {
    pollfd ready{watch, POLLIN, 0};
    if (poll(&ready, 1, wait_ms) > 0) break;
    struct stat s {};
    const double cpu_s = tree.spent_s + Processes::cpu_of(pid);
    if (cpu_s > 2 * limits.cpu_s)
      leaf.end = static_cast<std::uint8_t>(RunEnd::kCpu);
    else if (fstat(out_fd, &s) == 0 && s.st_size > limits.output_kb << 10)
      leaf.end = static_cast<std::uint8_t>(RunEnd::kOutput);
    else if (clock_s(CLOCK_MONOTONIC) - begin > 2 * limits.wall_s)
      leaf.end = static_cast<std::uint8_t>(RunEnd::kWall), leaf.flags |= kUnsure;
    else
      continue;
    stopped = true;
    kill(pid, SIGKILL);
    break;
  }
  close(watch);
  wait4(pid, &status, 0, &usage);
  const bool signalled = WIFSIGNALED(status);
  leaf.flags |= tree.shared->flags;
  leaf.code = signalled ? WTERMSIG(status) : WEXITSTATUS(status);
  if (!stopped) leaf.end = static_cast<std::uint8_t>(signalled ? RunEnd::kSignal : RunEnd::kExit);
  leaf.cpu_s = tree.spent_s + static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  leaf.rss_kb = usage.ru_maxrss;
  struct stat s {};
  if (fstat(out_fd, &s) == 0 && s.st_size > limits.output_kb << 10)
    leaf.end = static_cast<std::uint8_t>(RunEnd::kOutput);
  else if (leaf.flags & kCollected)
    leaf.output = content(result_fd, 256u << 20);
  else if (leaf.end == static_cast<std::uint8_t>(RunEnd::kExit))
    leaf.output = tree.source->call ? content(result_fd, 64u << 20)
                                    : content(out_fd, static_cast<std::size_t>(limits.output_kb) << 10);
  return leaf;
}

/// The chosen text defines its names. A reference to the function that it is about.
PyObject* resolve(std::size_t function) {
  PyThreadState* thread = PyThreadState_Get();
  thread->recursion_remaining += 100;
  PyObject* code = tree.source->codes[function][static_cast<std::size_t>(tree.choice[function])];
  PyObject* done = code ? PyEval_EvalCode(code, tree.space, tree.space) : nullptr;
  thread->recursion_remaining -= 100;
  if (!done) unsure();
  Py_DECREF(done);
  PyObject* real = PyDict_GetItemString(tree.space, tree.source->names[function].c_str());
  if (!real) unsure();
  return Py_NewRef(real);
}

/// Files of its own for a forked child: stdin at the same place, stdout with what is there already.
void take_files(int out_fd, int result_fd) {
  const off_t at = lseek(0, 0, SEEK_CUR);
  const int in = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
  if (in < 0 || lseek(in, at, SEEK_SET) != at || dup2(in, 0) != 0) unsure();
  close(in);
  const off_t written = lseek(1, 0, SEEK_CUR);
  const int old = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC);
  if (written > 0) {
    std::string before = content(old, static_cast<std::size_t>(written));
    if (!write_all(out_fd, before)) unsure();
  }
  close(old);
  if (dup2(out_fd, 1) != 1 || dup2(result_fd, tree.result_fd) != tree.result_fd) unsure();
  close(out_fd);
  close(result_fd);
}

struct Stub {
  PyObject_HEAD std::size_t function;
};

PyObject* call_stub(PyObject* self, PyObject* args, PyObject* kwargs) {
  const std::size_t function = reinterpret_cast<Stub*>(self)->function;
  PyObject* real = nullptr;
  if (tree.choice[function] >= 0) {
    real = PyDict_GetItemString(tree.space, tree.source->names[function].c_str());
    if (!real || real == self) unsure();
    Py_INCREF(real);
  } else {
    const Set choices = allowed(function);
    if (choices.count() == 1) {
      tree.choice[function] = static_cast<std::int32_t>(choices._Find_first());
      real = resolve(function);
    } else {
      const double spent_s = tree.spent_s + clock_s(CLOCK_PROCESS_CPUTIME_ID);
      std::string leaves;
      PyOS_BeforeFork();
      for (std::size_t j = choices._Find_first(); j < choices.size(); j = choices._Find_next(j)) {
        if (tree.deadline_s > 0 && clock_s(CLOCK_MONOTONIC) > tree.deadline_s) break;
        const int out_fd = new_file(), result_fd = new_file();
        tree.shared->flags = 0;
        tree.choice[function] = static_cast<std::int32_t>(j);
        tree.spent_s = spent_s;
        const pid_t pid = fork();
        if (pid == 0) {
          take_files(out_fd, result_fd);
          PyOS_AfterFork_Child();
          real = resolve(function);
          break;
        }
        if (pid < 0) unsure();
        const Leaf leaf = wait_for(pid, out_fd, result_fd);
        close(out_fd);
        close(result_fd);
        if (leaf.flags & kCollected) {
          // Whatever it says, it speaks of programs with the choices that it was forked with.
          for (Leaf& inner : read_leaves(leaf.output, tree.choice.size())) {
            for (std::size_t l = 0; l < tree.choice.size(); ++l)
              if (tree.choice[l] >= 0) inner.choice[l] = tree.choice[l];
            write_leaf(leaves, inner);
          }
        } else {
          write_leaf(leaves, leaf);
        }
      }
      if (!real) {
        if (ftruncate(tree.result_fd, 0) != 0 || lseek(tree.result_fd, 0, SEEK_SET) != 0 ||
            !write_all(tree.result_fd, leaves))
          unsure();
        tree.shared->flags = kCollected;
        _exit(0);
      }
    }
  }
  PyObject* out = PyObject_Call(real, args, kwargs);
  Py_DECREF(real);
  return out;
}

}  // namespace

void run_tree(const Source& source, const std::vector<Cell>& cells, const Test& test, double deadline_s,
              Shared& shared, int result_fd) {
  static PyTypeObject type = [] {
    PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "function";
    t.tp_basicsize = sizeof(Stub);
    t.tp_flags = Py_TPFLAGS_DEFAULT;
    t.tp_call = call_stub;
    return t;
  }();
  if (PyType_Ready(&type) != 0) _exit(9);
  auto* recursion = reinterpret_cast<PyTypeObject*>(PyExc_RecursionError);
  old_recursion_new = recursion->tp_new;
  recursion->tp_new = new_recursion_error;
  tree = {&source,
          &cells,
          &shared,
          result_fd,
          deadline_s,
          0,
          std::vector<std::int32_t>(source.names.size(), -1),
          PyModule_GetDict(PyImport_AddModule("__main__"))};
  run_program(source, {}, test, shared, result_fd, [&](PyObject* space) {
    for (std::size_t i = 0; i < source.names.size(); ++i) {
      auto* stub = PyObject_New(Stub, &type);
      stub->function = i;
      PyDict_SetItemString(space, source.names[i].c_str(), reinterpret_cast<PyObject*>(stub));
    }
  });
}

std::vector<Leaf> read_leaves(std::string_view bytes, std::size_t functions) {
  std::vector<Leaf> out;
  while (!bytes.empty()) {
    Leaf leaf;
    for (std::size_t l = 0; l < functions; ++l) leaf.choice.push_back(take<std::int32_t>(bytes));
    leaf.end = take<std::uint8_t>(bytes);
    leaf.flags = take<std::uint8_t>(bytes);
    leaf.code = take<std::int32_t>(bytes);
    leaf.cpu_s = take<double>(bytes);
    leaf.rss_kb = take<std::int64_t>(bytes);
    const std::size_t size = take<std::uint32_t>(bytes);
    if (size > bytes.size()) break;
    leaf.output = bytes.substr(0, size);
    bytes.remove_prefix(size);
    out.push_back(std::move(leaf));
  }
  return out;
}

}  // namespace leap::decomp
