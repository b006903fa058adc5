#include "decomp/worker_process.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"

namespace leap::decomp {
namespace {

namespace fs = std::filesystem;

/// Beside the running program, or where it is installed.
std::string find_program() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {here, here / "../libexec/leaptools", here / "../lib/leaptools"}) {
    const fs::path file = folder / "leap-recombine-worker";
    if (fs::exists(file)) return fs::canonical(file).string();
  }
  throw Error("leap-recombine-worker: not found beside the program; install it in ../libexec/leaptools");
}

std::vector<std::vector<int>> rows_of(const std::string& text) {
  std::vector<std::vector<int>> out(1);
  const char* at = text.c_str();
  while (*at) {
    if (*at == ';') {
      out.emplace_back();
      ++at;
    } else {
      char* end = nullptr;
      out.back().push_back(static_cast<int>(std::strtol(at, &end, 10)));
      at = end == at ? at + 1 : end;
      if (*at == ',') ++at;
    }
  }
  return out;
}

}  // namespace

WorkerProcess::WorkerProcess(sandbox::Mode mode, const std::string& program)
    : inside_(sandbox::start_inside(mode, program, 64)) {
  const Fields hello = receive(60);
  if (hello.empty() || hello[0] != "hello") throw sandbox::Fault("worker: no greeting");
}

WorkerProcess::~WorkerProcess() {
  sandbox::end_inside(inside_);
}

void WorkerProcess::send(const Fields& fields) {
  if (!sandbox::send_all(inside_.control, packed(fields))) throw sandbox::Fault("worker: it has ended");
}

Fields WorkerProcess::receive(double patience_s) {
  if (!sandbox::wait_for_answer(inside_.control, patience_s))
    throw sandbox::Fault("worker: no answer in time");
  Fields fields;
  if (!read_frame(inside_.control, fields)) throw sandbox::Fault("worker: it has ended");
  return fields;
}

Sources WorkerProcess::load(const Decomposition& decomposition, const std::string& entry,
                            const sandbox::Limits& limits, const std::vector<TestInput>& tests) {
  char numbers[200];
  std::snprintf(numbers, sizeof numbers, "%.6f %.6f %ld %d %ld %d", limits.cpu_s, limits.wall_s,
                static_cast<long>(limits.memory_mb) << 10, limits.output_kb,
                static_cast<long>(limits.file_mb) << 10, limits.processes);
  patience_s_ = limits.wall_s * 3 + 120;
  functions_ = decomposition.functions.size();
  Fields fields = {"load", decomposition.preamble, decomposition.main, entry, numbers};
  for (const Function& function : decomposition.functions) {
    fields.push_back(function.name);
    fields.push_back(std::to_string(function.implementations.size()));
    fields.insert(fields.end(), function.implementations.begin(), function.implementations.end());
  }
  send(fields);
  fields = {"tests"};
  for (const TestInput& test : tests) fields.insert(fields.end(), {test.input, test.args, test.kwargs});
  send(fields);
  const Fields reply = receive(600);
  if (reply.size() != 7 || reply[0] != "loaded") throw sandbox::Fault("worker: an answer of another kind");
  Sources out{reply[1], reply[2], reply[3], rows_of(reply[4]), {}};
  cpu_s_ += std::atof(reply[6].c_str());
  const auto bad = rows_of(reply[5]);
  out.classes.resize(functions_);
  out.bad.resize(functions_);
  for (std::size_t l = 0; l < functions_; ++l) {
    const std::size_t k = decomposition.functions[l].implementations.size();
    if (out.classes[l].size() != k) {
      out.classes[l].clear();
      for (std::size_t j = 0; j < k; ++j) out.classes[l].push_back(static_cast<int>(j));
    }
    for (std::size_t j = 0; j < k; ++j)
      out.bad[l].push_back(l < bad.size() && j < bad[l].size() && bad[l][j] != 0);
  }
  return out;
}

void WorkerProcess::run(const std::vector<Item>& items, double cpu_factor,
                        const std::function<bool(std::size_t, RunResult)>& done) {
  // In batches: the worker reads the next one while its answers are looked at.
  constexpr std::size_t kBatch = 64;
  for (std::size_t begin = 0; begin < items.size(); begin += kBatch) {
    const std::size_t end = std::min(items.size(), begin + kBatch);
    std::string packed_items;
    for (std::size_t i = begin; i < end; ++i) {
      put(packed_items, static_cast<std::uint32_t>(items[i].test));
      for (const int j : *items[i].choice) put(packed_items, static_cast<std::uint32_t>(j));
    }
    send({"run", std::to_string(cpu_factor), packed_items});
    bool more = true;
    for (std::size_t i = begin; i < end; ++i) {
      Fields answer = receive(patience_s_);
      if (answer.size() != 3 || answer[0] != "ran") throw sandbox::Fault("worker: an answer of another kind");
      std::string_view head = answer[1];
      RunResult result;
      result.end = take<RunEnd>(head);
      result.flags = take<std::uint8_t>(head);
      result.code = take<std::int32_t>(head);
      result.cpu_s = take<double>(head);
      result.wall_s = take<double>(head);
      result.rss_kb = take<std::int64_t>(head);
      result.output = std::move(answer[2]);
      cpu_s_ += result.cpu_s;
      more = done(i, std::move(result)) && more;
    }
    if (!more) return;
  }
}

bool WorkerProcess::explore(bool tree, std::size_t test, const std::vector<Cell>& cells, double budget_s,
                            Explored& out) {
  std::string packed_cells;
  for (const Cell& cell : cells)
    for (const Set& set : cell) put(packed_cells, set);
  send({tree ? "tree" : "trie", std::to_string(test), packed_cells, std::to_string(budget_s)});
  const Fields answer = receive(budget_s > 0 ? budget_s + patience_s_ : 24 * 3600);
  if (answer.empty()) throw sandbox::Fault("worker: an answer of another kind");
  if (answer[0] == "died" && answer.size() == 2) {
    cpu_s_ += std::atof(answer[1].c_str());
    return false;
  }
  if (answer[0] != "found" || answer.size() < 4) throw sandbox::Fault("worker: an answer of another kind");
  cpu_s_ += std::atof(answer[1].c_str());
  out.bodies += std::strtoull(answer[2].c_str(), nullptr, 10);
  std::string_view found = answer[3];
  while (!found.empty()) {
    Found one;
    one.cell = take<std::uint32_t>(found);
    one.result = take<std::uint32_t>(found);
    for (std::size_t l = 0; l < functions_; ++l) one.part.push_back(take<Set>(found));
    if (one.cell >= cells.size() || one.result >= answer.size() - 4)
      throw sandbox::Fault("worker: an answer of another kind");
    // Whatever it says, it speaks of this cell alone.
    bool any = true;
    for (std::size_t l = 0; l < functions_; ++l) {
      one.part[l] &= cells[one.cell][l];
      any = any && one.part[l].any();
    }
    if (any) out.found.push_back(std::move(one));
  }
  for (std::size_t i = 4; i < answer.size(); ++i) {
    if (answer[i].empty()) throw sandbox::Fault("worker: an answer of another kind");
    out.results.push_back({answer[i][0], answer[i].substr(1)});
  }
  return true;
}

Workers::Workers(sandbox::Mode mode) : mode_(mode), program_(find_program()) {}

std::unique_ptr<WorkerProcess> Workers::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto out = std::move(idle_.back());
      idle_.pop_back();
      return out;
    }
  }
  return std::make_unique<WorkerProcess>(mode_, program_);
}

void Workers::give(std::unique_ptr<WorkerProcess> worker) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

}  // namespace leap::decomp
