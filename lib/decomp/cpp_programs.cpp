#include "decomp/cpp_programs.hpp"

#include <algorithm>
#include <regex>

#include "verify/compare.hpp"

namespace leap::decomp {
namespace {

constexpr int kRounds = 8;  // of compiling without what did not compile

/// Numbers of the implementations that the compiler complains about, from 1; 0 for all other text.
std::set<int> accused(const std::string& message) {
  static const std::regex error(R"(line (\d+):(\d+:)?\s*(fatal )?error:)");
  std::set<int> out;
  for (std::sregex_iterator it(message.begin(), message.end(), error), end; it != end; ++it)
    out.insert(std::stoi((*it)[1]) / kCppLines);
  return out;
}

}  // namespace

CppSandboxes::CppSandboxes(sandbox::Mode wanted)
    : mode(wanted),
      programs(verify::harness_settings(mode, verify::Guests::kCandidates)),
      judges(verify::harness_settings(mode, verify::Guests::kJudges)),
      compilers({mode, "", 512, {}}) {}

CppPrograms::CppPrograms(CppSandboxes& sandboxes, const Decomposition& decomposition, const Judge& judge)
    : sandboxes_(sandboxes), decomposition_(decomposition), judge_(judge) {}

void CppPrograms::spend(double cpu_s) {
  std::lock_guard lock(mutex_);
  cpu_s_ += cpu_s;
}

CppPart CppPrograms::part(std::size_t l, std::size_t j) const {
  return parts_.functions.empty() ? CppPart::kWhole : parts_.functions[l][j].part;
}

bool CppPrograms::apart(std::size_t l, std::size_t j, std::size_t m, std::size_t i) const {
  const CppImplementation &a = parts_.functions[l][j], &b = parts_.functions[m][i];
  return share_any(a.names, b.words) || share_any(b.names, a.words);
}

void CppPrograms::prepare() {
  parts_ = read_cpp(decomposition_);
  why_ = parts_.why;
  if (!why_.empty()) return;
  for (std::size_t l = 0; l < parts_.functions.size(); ++l)
    for (std::size_t j = 0; j < parts_.functions[l].size(); ++j) places_.emplace_back(l, j);
  std::vector<std::pair<std::size_t, std::size_t>> suspects;
  bool ready = false;
  for (int round = 0; round < kRounds && !ready; ++round) {
    const std::string text = shared_text(decomposition_, parts_);
    if (text.empty()) {
      why_ = "a function has no implementation that can be shared";
      break;
    }
    program_ = verify::compile_cpp(sandboxes_.compilers,
                                   {{"solution.cpp", text}, {"leaprt.a", std::string(cpp_runtime())}},
                                   judge_.standard(), &sandboxes_.prelude);
    spend(program_.compile_s);
    ready = program_.failed.empty();
    if (ready) break;
    const std::set<int> guilty = accused(program_.message);
    if (guilty.empty() || guilty.count(0)) {
      why_ = "the implementations do not compile side by side";
      break;
    }
    for (const int i : guilty) {
      const auto [l, j] = places_[static_cast<std::size_t>(i) - 1];
      parts_.functions[l][j].part = CppPart::kWhole;
      suspects.emplace_back(l, j);
    }
  }
  if (!ready) {
    if (why_.empty()) why_ = "the implementations do not compile side by side";
    share_nothing();
    return;
  }
  for (const auto& [l, j] : suspects) {
    CppImplementation& one = parts_.functions[l][j];
    if (broken(l, j))
      one.part = CppPart::kBroken;
    else
      one.why =
          "an implementation of `" + decomposition_.functions[l].name + "` compiles only in whole programs";
  }
  for (const auto& function : parts_.functions)
    for (const CppImplementation& one : function)
      if (one.part == CppPart::kWhole && why_.empty()) why_ = one.why;
}

/// Does no program with it compile? So it is when one does not, whose other parts do, and no text that could
/// stand there has a word in common that it defines.
bool CppPrograms::broken(std::size_t l, std::size_t j) {
  const CppImplementation& suspect = parts_.functions[l][j];
  std::vector<int> choice;
  for (std::size_t m = 0; m < parts_.functions.size(); ++m) {
    int first = m == l ? static_cast<int>(j) : -1;
    for (std::size_t i = 0; i < parts_.functions[m].size(); ++i) {
      const CppImplementation& other = parts_.functions[m][i];
      if (m == l) continue;
      if (share_any(other.names, suspect.words) || share_any(suspect.names, other.words)) return false;
      if (first < 0 && other.part == CppPart::kShared) first = static_cast<int>(i);
    }
    if (first < 0) return false;
    choice.push_back(first);
  }
  for (std::size_t m = 0; m < choice.size(); ++m)
    for (std::size_t i = 0; i < m; ++i)
      if (i != l && m != l &&
          apart(m, static_cast<std::size_t>(choice[m]), i, static_cast<std::size_t>(choice[i])))
        return false;
  return whole(choice, 0, false)[0] == 'C';
}

void CppPrograms::share_nothing() {
  for (auto& function : parts_.functions)
    for (CppImplementation& one : function) one.part = CppPart::kWhole;
}

bool CppPrograms::shares() const {
  for (const auto& function : parts_.functions)
    for (const CppImplementation& one : function)
      if (one.part == CppPart::kShared) return true;
  return false;
}

template <class Kept, class Make>
std::unique_ptr<Kept> CppPrograms::take(std::vector<std::unique_ptr<Kept>>& idle, const Make& make) {
  {
    std::lock_guard lock(mutex_);
    if (!idle.empty()) {
      auto out = std::move(idle.back());
      idle.pop_back();
      return out;
    }
  }
  return make();
}

template <class Kept>
void CppPrograms::give(std::vector<std::unique_ptr<Kept>>& idle, std::unique_ptr<Kept> kept) {
  std::lock_guard lock(mutex_);
  idle.push_back(std::move(kept));
}

/// Near its limit a program may end otherwise when it is compiled as a whole.
bool CppPrograms::is_near_limit(double cpu_s) const {
  const double limit = judge_.limits().cpu_s;
  return cpu_s > 0.5 * limit && cpu_s < 2 * limit;
}

char CppPrograms::run_once(std::size_t test, const std::vector<int>& choice, std::string& calls) {
  // A server is a process that others of its sandbox must not reach: it takes namespaces.
  return sandbox::resolve(sandboxes_.mode) == sandbox::Mode::kBwrap ? by_server(test, choice, calls)
                                                                    : by_runner(test, choice, calls);
}

char CppPrograms::by_server(std::size_t test, const std::vector<int>& choice, std::string& calls) {
  sandbox::Limits limits = judge_.limits();
  limits.cpu_s *= 2;
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      auto server =
          take(idle_servers_, [&] { return std::make_unique<CppServer>(sandboxes_.mode, program_.bytes); });
      CppServer::Run run = server->run(choice, judge_.inputs()[test].input, limits);
      spend(run.result.cpu_s);
      ++runs_;
      give(idle_servers_, std::move(server));
      calls = std::move(run.calls);
      return is_near_limit(run.result.cpu_s) || run.unsure ? '?' : judge_.letter(test, run.result);
    } catch (const sandbox::Fault&) {
      calls.clear();
    }
  }
  return '?';
}

char CppPrograms::by_runner(std::size_t test, const std::vector<int>& choice, std::string& calls) {
  auto runner = take(idle_, [&] {
    return std::make_unique<verify::Runner>(sandboxes_.programs, sandboxes_.judges, program_,
                                            judge_.limits());
  });
  runner->forget();
  verify::Runner::Job job;
  job.input = judge_.inputs()[test].input;
  job.name = shared_argument(choice);
  job.report = kCppReport;
  const verify::Result result = runner->run(job, nullptr);
  spend(result.cpu_s);
  ++runs_;
  give(idle_, std::move(runner));
  if (result.report.size() > choice.size() && result.report[0] == kLeapMagic)
    calls = result.report.substr(1, choice.size());
  return is_near_limit(result.cpu_s) || result.harness ? '?' : judge_.letter(test, result);
}

CppPrograms::Run CppPrograms::run(std::size_t test, const std::vector<int>& choice) {
  Run out;
  std::string calls;
  const char letter = run_once(test, choice, calls);
  if (calls.empty()) return out;
  std::vector<std::pair<int, int>> order;
  for (std::size_t l = 0; l < choice.size(); ++l)
    if (calls[l]) order.emplace_back(static_cast<unsigned char>(calls[l]), static_cast<int>(l));
  std::sort(order.begin(), order.end());
  for (const auto& [at, l] : order) out.functions.push_back(l);
  if (letter != 'M') out.letter = letter;
  return out;
}

std::optional<int> CppPrograms::functions_used(const std::vector<int>& choice) {
  for (std::size_t l = 0; l < choice.size(); ++l)
    if (part(l, static_cast<std::size_t>(choice[l])) != CppPart::kShared) return std::nullopt;
  int used = 0;
  for (std::size_t l = 0; l < choice.size(); ++l) {
    std::vector<int> without = choice;
    without[l] = static_cast<int>(parts_.functions[l].size());  // the one that returns {}
    char letter = 'P';
    for (std::size_t test = 0; test < judge_.tests() && letter == 'P'; ++test)
      letter = run(test, without).letter;
    if (letter == '?') return std::nullopt;
    used += letter != 'P';
  }
  return used;
}

std::string CppPrograms::whole(const std::vector<int>& choice, std::size_t first, bool all) {
  const verify::Program program =
      verify::compile_cpp(sandboxes_.compilers, {{"solution.cpp", program_text(decomposition_, choice)}},
                          judge_.standard(), &sandboxes_.prelude);
  spend(program.compile_s);
  if (!program.failed.empty()) return all ? std::string(judge_.tests() - first, 'C') : "C";
  verify::Runner runner(sandboxes_.programs, sandboxes_.judges, program, judge_.limits());
  std::string out;
  for (std::size_t test = first; test < judge_.tests(); ++test) {
    verify::Runner::Job job;
    job.input = judge_.inputs()[test].input;
    const verify::Result result = runner.run(job, nullptr);
    spend(result.cpu_s);
    ++runs_;
    out += judge_.letter(test, result);
    if (out.back() != 'P' && !all) break;
  }
  return out;
}

}  // namespace leap::decomp
