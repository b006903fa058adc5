/// The worker of the recombination engine: the first process of its sandbox, with a warm Python interpreter.
/// It never runs a program's code itself: programs are forks of it, and it says how they ended.
///
/// argv: 1 or 0, in a pid namespace of its own or not. fd 3: the engine's socket, fd 4: the children's
/// filter. Or 2, a directory, a user and the kB that a program may leave there: without namespaces, confined
/// by Landlock; fd 6: the children's rules, 7 and 8: its own filter and rules.
#include "program.hpp"
// after Python.h
#include <poll.h>
#include <signal.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "frames.hpp"
#include "process.hpp"
#include "tree.hpp"
#include "trie.hpp"

extern "C" {
#include "sandbox/confined.h"
}

namespace leap::decomp {

extern const char kGateParts[], kGateTrie[], kGate[];

namespace {

constexpr int kControl = 3;

class Worker {
 public:
  explicit Worker(bool contained) : processes_(contained) {}

  [[noreturn]] void serve() {
    start_python();
    gate_ = own_module("gate", (std::string(kGateParts) + "\n" + kGateTrie + "\n" + kGate).c_str());
    PyRun_SimpleString(
        "import gc, sys, math, itertools, functools, collections, heapq, bisect, string, operator, re\n"
        "del math, itertools, functools, collections, heapq, bisect, string, operator, re, sys\n"
        "gc.collect()\ngc.freeze()\ndel gc\n");
    if (!processes_.filter(filter_)) _exit(3);
    answer({"hello"});
    Fields request;
    while (read_frame(kControl, request)) {
      if (request.empty()) break;
      if (request[0] == "load")
        load_source(request);
      else if (request[0] == "tests")
        set_tests(request);
      else if (request[0] == "run")
        run(request);
      else if (request[0] == "trie")
        explore(request);
      else if (request[0] == "tree")
        explore_tree(request);
      else
        break;
    }
    processes_.end_all();
    _exit(0);
  }

  void set_filter(std::string filter) { filter_ = std::move(filter); }

 private:
  void answer(const Fields& fields) {
    if (!write_all(kControl, packed(fields))) _exit(0);
  }

  /// load: preamble, main, entry ("" where the check calls none), limits, then for each function its name,
  /// the number of its texts and these.
  void load_source(const Fields& request) {
    end_explorer();
    source_.clear();
    source_.preamble = request[1];
    source_.main = request[2];
    source_.entry = request[3];
    source_.call = !source_.entry.empty();
    Limits& limits = source_.limits;
    std::sscanf(request[4].c_str(), "%lf %lf %ld %ld %ld %ld", &limits.cpu_s, &limits.wall_s,
                &limits.memory_kb, &limits.output_kb, &limits.file_kb, &limits.processes);
    for (std::size_t at = 5; at + 1 < request.size();) {
      source_.names.push_back(request[at]);
      const auto count = static_cast<std::size_t>(std::atoi(request[at + 1].c_str()));
      const auto first = request.begin() + static_cast<std::ptrdiff_t>(at) + 2;
      source_.texts.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
      at += 2 + count;
    }
    const double before = processes_.cpu_s();
    Limits own;
    own.cpu_s = 60, own.wall_s = 240, own.memory_kb = 2 << 20;
    processes_.set_input("");
    const Ran ran = processes_.run(own, [&](Shared& shared, int result_fd) { prepare(shared, result_fd); });
    Fields reply = {"loaded"};
    const bool read =
        ran.end == RunEnd::kExit && (ran.flags & kComplete) && load(source_, processes_.result(), reply);
    if (!read) {
      // What cannot even be read is run as whole texts.
      source_.whole = true, source_.final = true;
      reply = {"loaded", "the sources could not be read", "-", "-", "", ""};
    }
    reply.push_back(std::to_string(processes_.cpu_s() - before));
    answer(reply);
  }

  [[noreturn]] void prepare(Shared& shared, int result_fd) {
    PyObject* functions = PyList_New(0);
    for (std::size_t i = 0; i < source_.names.size(); ++i) {
      PyObject* texts = PyList_New(0);
      for (const std::string& text : source_.texts[i])
        PyList_Append(texts,
                      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
      PyList_Append(functions, Py_BuildValue("(s#N)", source_.names[i].data(),
                                             static_cast<Py_ssize_t>(source_.names[i].size()), texts));
    }
    PyObject* function = PyDict_GetItemString(gate_, "prepare");
    PyObject* out = PyObject_CallFunction(
        function, "s#Ns#s#", source_.preamble.data(), static_cast<Py_ssize_t>(source_.preamble.size()),
        functions, source_.main.data(), static_cast<Py_ssize_t>(source_.main.size()), source_.entry.data(),
        static_cast<Py_ssize_t>(source_.entry.size()));
    if (!out || !PyBytes_Check(out)) _exit(1);
    if (write_all(result_fd, {PyBytes_AS_STRING(out), static_cast<std::size_t>(PyBytes_GET_SIZE(out))}))
      shared.flags |= kComplete;
    _exit(0);
  }

  void set_tests(const Fields& request) {
    tests_.clear();
    for (std::size_t at = 1; at + 2 < request.size(); at += 3)
      tests_.push_back({request[at], request[at + 1], request[at + 2]});
  }

  /// run: the factor of the CPU limit, then one field of (test, choices..) as 32-bit numbers each.
  void run(const Fields& request) {
    end_explorer();
    Limits limits = source_.limits;
    limits.cpu_s *= std::atof(request[1].c_str());
    std::string_view items = request[2];
    while (!items.empty()) {
      const auto test = static_cast<std::size_t>(take<std::uint32_t>(items));
      std::vector<int> choice;
      for (std::size_t i = 0; i < source_.names.size(); ++i)
        choice.push_back(static_cast<int>(take<std::uint32_t>(items)));
      processes_.set_input(tests_[test].input);
      const Ran ran = processes_.run(limits, [&](Shared& shared, int result_fd) {
        run_program(source_, choice, tests_[test], shared, result_fd);
      });
      std::string head;
      put(head, ran.end);
      put(head, ran.flags);
      put(head, static_cast<std::int32_t>(ran.code));
      put(head, ran.cpu_s);
      put(head, ran.wall_s);
      put(head, static_cast<std::int64_t>(ran.rss_kb));
      std::string out;
      if (ran.end == RunEnd::kExit)
        out = source_.call ? processes_.result() : processes_.output(limits.output_kb);
      if (!processes_.clean()) _exit(3);
      answer({"ran", head, out});
    }
  }

  /// trie: the test, the cells, the seconds that it may take or 0. The explorer lives until something else is
  /// asked.
  void explore(const Fields& request) {
    if (explorer_ < 0) {
      Limits limits = source_.limits;
      limits.cpu_s = 1e7;
      limits.memory_kb = limits.memory_kb * 2 + (1 << 20);
      processes_.set_input("");
      explorer_ = processes_.start(
          limits, [&](Shared& shared, int socket) { serve_trie(source_, tests_, shared, socket); }, socket_);
      explorer_cpu_s_ = 0;
    }
    const bool sent = write_all(socket_, packed(request));
    // What runs without end in C is not interrupted by a signal.
    const double patience_s = 3 * source_.limits.cpu_s + 5;
    double since_s = explorer_cpu_s_;
    std::uint32_t beat = processes_.beat();
    Fields answered;
    bool alive = sent;
    pollfd wait{socket_, POLLIN, 0};
    while (alive) {
      if (poll(&wait, 1, 500) > 0) {
        alive = read_frame(socket_, answered) && answered.size() >= 4 && answered[0] == "found";
        break;
      }
      const double cpu_s = Processes::cpu_of(explorer_);
      if (beat != processes_.beat()) beat = processes_.beat(), since_s = cpu_s;
      alive = cpu_s - since_s < patience_s;
    }
    const double total_s = Processes::cpu_of(explorer_);
    const std::string cpu = std::to_string(total_s - explorer_cpu_s_);
    explorer_cpu_s_ = total_s;
    if (alive) {
      answered[1] = cpu;
      answer(answered);
    } else {
      end_explorer();
      answer({"died", cpu});
    }
  }

  /// tree: as trie.
  void explore_tree(const Fields& request) {
    end_explorer();
    const std::size_t n = source_.names.size();
    const auto index = static_cast<std::size_t>(std::atoi(request[1].c_str()));
    const double budget_s = std::atof(request[3].c_str());
    std::vector<Cell> cells;
    for (std::string_view rest = request[2]; !rest.empty();) {
      cells.emplace_back();
      for (std::size_t l = 0; l < n; ++l) cells.back().push_back(take<Set>(rest));
    }
    Limits limits = source_.limits;
    limits.cpu_s *= 2, limits.wall_s = 1e7, limits.alone = false;
    processes_.set_input(tests_[index].input);
    const double deadline_s = budget_s > 0 ? now_s() + budget_s : 0;
    const double before_s = processes_.cpu_s();
    const Ran ran = processes_.run(limits, [&](Shared& shared, int result_fd) {
      run_tree(source_, cells, tests_[index], deadline_s, shared, result_fd);
    });
    const std::string cpu = std::to_string(processes_.cpu_s() - before_s);
    std::vector<Leaf> leaves;
    if (ran.flags & kCollected) {
      leaves = read_leaves(processes_.result(), n);
    } else {
      Leaf leaf;
      leaf.choice.assign(n, -1);
      leaf.end = static_cast<std::uint8_t>(ran.end), leaf.flags = ran.flags, leaf.code = ran.code;
      leaf.cpu_s = ran.cpu_s, leaf.rss_kb = ran.rss_kb;
      leaf.output = source_.call ? processes_.result() : processes_.output(limits.output_kb);
      leaves.push_back(std::move(leaf));
    }
    if (!processes_.clean()) _exit(3);
    Fields out = {"found", cpu, std::to_string(leaves.size()), ""};
    std::map<std::string, std::uint32_t> known;
    for (const Leaf& leaf : leaves) {
      const char what = letter(leaf);
      const std::string result = std::string(1, what) + (what == ' ' ? leaf.output : "");
      const auto [at, fresh] = known.emplace(result, static_cast<std::uint32_t>(known.size()));
      if (fresh) out.push_back(result);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        Cell part = cells[i];
        bool any = true;
        for (std::size_t l = 0; l < n; ++l) {
          if (leaf.choice[l] < 0) continue;
          Set one;
          one.set(static_cast<std::size_t>(leaf.choice[l]));
          part[l] &= one;
          any = any && part[l].any();
        }
        if (!any) continue;
        put(out[3], static_cast<std::uint32_t>(i));
        put(out[3], at->second);
        for (const Set& set : part) put(out[3], set);
      }
    }
    answer(out);
  }

  /// As for what is explored on values: ' ' to be compared, '?' to be run by itself.
  char letter(const Leaf& leaf) const {
    const auto end = static_cast<RunEnd>(leaf.end);
    if (leaf.flags & kUnsure) return '?';
    if (end == RunEnd::kOutput) return 'O';
    if (end == RunEnd::kCpu) return 'T';
    if (leaf.cpu_s > 0.5 * source_.limits.cpu_s || end == RunEnd::kWall || end == RunEnd::kMemory ||
        (leaf.flags & kMemoryError) || (end == RunEnd::kSignal && leaf.code == SIGKILL))
      return '?';
    if (end == RunEnd::kSignal || leaf.code != 0) return 'E';
    return source_.call && !(leaf.flags & kComplete) ? 'E' : ' ';
  }

  static double now_s() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }

  void end_explorer() {
    if (explorer_ < 0) return;
    close(socket_);
    processes_.end_all();
    explorer_ = -1;
    if (!processes_.clean()) _exit(3);
  }

  Processes processes_;
  pid_t explorer_ = -1;
  int socket_ = -1;
  double explorer_cpu_s_ = 0;
  std::string filter_;
  PyObject* gate_ = nullptr;
  Source source_;
  std::vector<Test> tests_;
};

}  // namespace
}  // namespace leap::decomp

namespace {

std::string content_of(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  // The filters must be read before their fds are closed with the others.
  const std::string filter = content_of(4);
  if (argc > 4 && argv[1][0] == '2') {
    const std::string own = content_of(7);
    leap::decomp::work_dir = argv[2];
    const char* trouble = leap_confine(argv[2], static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)),
                                       true, own.data(), own.size(), std::atol(argv[4]), 8);
    if (trouble) {
      std::fprintf(stderr, "%s\n", trouble);
      return 1;
    }
    if (chdir(argv[2]) != 0) return 1;
    setenv("HOME", argv[2], 1);
    setenv("TMPDIR", argv[2], 1);
  }
  static std::optional<leap::decomp::Worker> worker;
  worker.emplace(argc > 1 && argv[1][0] == '1');
  worker->set_filter(filter);
  worker->serve();
}
