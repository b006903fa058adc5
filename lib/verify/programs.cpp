#include "verify/programs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

#include "base/text.hpp"

namespace leap::verify {

extern const char kHarness[], kHarnessPrograms[], kHarnessTests[];
extern "C" const char leap_harness_pyc[], leap_harness_pyc_end[], leap_harness_programs_pyc[],
    leap_harness_programs_pyc_end[], leap_harness_tests_pyc[], leap_harness_tests_pyc_end[];

using sandbox::Child;
using sandbox::End;
using sandbox::Ended;
using sandbox::Fields;

sandbox::Settings harness_settings(sandbox::Mode mode, Guests guests) {
  using sandbox::bytes_between;
  sandbox::Settings settings;
  settings.mode = mode;
  settings.modules = {{kHarness, bytes_between(leap_harness_pyc, leap_harness_pyc_end)}};
  if (guests == Guests::kCandidates)
    settings.modules.push_back(
        {kHarnessPrograms, bytes_between(leap_harness_programs_pyc, leap_harness_programs_pyc_end)});
  else
    settings.modules.push_back(
        {kHarnessTests, bytes_between(leap_harness_tests_pyc, leap_harness_tests_pyc_end)});
  return settings;
}

std::string harness_text() {
  return std::string(kHarness) + kHarnessPrograms + kHarnessTests;
}

std::unique_ptr<sandbox::Box> Pool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto box = std::move(idle_.back());
      idle_.pop_back();
      return box;
    }
  }
  return fresh();
}

std::unique_ptr<sandbox::Box> Pool::fresh() const {
  sandbox::Settings settings;
  {
    std::lock_guard lock(mutex_);
    settings = settings_;
  }
  return std::make_unique<sandbox::Box>(settings);
}

Pool::~Pool() {
  for (const auto& box : idle_) box->hang_up();  // they leave together
  for (const auto& [name, fd] : settings_.shared) close(fd);
}

void Pool::share(const std::string& name, std::string_view bytes) {
  // Sealed: what one program does cannot reach the next one's compiler.
  const int fd = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return;
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (!bytes.empty() ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    close(fd);
    return;
  }
  std::vector<std::unique_ptr<sandbox::Box>> old;
  std::lock_guard lock(mutex_);
  settings_.shared.emplace_back(name, fd);
  old.swap(idle_);
}

void Pool::give(std::unique_ptr<sandbox::Box> box) {
  std::lock_guard lock(mutex_);
  if (settings_.mode != sandbox::Mode::kNone && box->shares() != settings_.shared.size()) return;
  idle_.push_back(std::move(box));
}

Lease::Lease(Pool& pool, bool takes_over) : pool_(pool), box_(pool.take()) {
  if (takes_over || !box_->running()) return;
  try {
    box_->stop();
  } catch (const sandbox::Fault&) {
    renew();
  }
}

Lease::~Lease() {
  if (!box_ || !box_->alive()) return;
  try {
    if (box_->running() && !(child_stays_ && kept_.empty())) box_->stop();
    for (const auto& [name, bytes] : kept_) box_->keep(name, "");
    box_->keep_program("");
    pool_.give(std::move(box_));
  } catch (const sandbox::Fault&) {
    // A broken sandbox is not used again.
  }
}

void Lease::keep(const std::string& name, const std::string& bytes) {
  kept_.emplace_back(name, bytes);
  try {
    box_->keep(name, bytes);
  } catch (const sandbox::Fault&) {
    renew();
  }
}

void Lease::keep(const Program& program) {
  if (!program.native) return keep(program.source ? "source" : "program", program.bytes);
  native_ = program.bytes;
  box_->keep_program(native_);
}

void Lease::renew() {
  box_ = pool_.fresh();
  for (const auto& [name, bytes] : kept_) box_->keep(name, bytes);
  box_->keep_program(native_);
}

namespace {

constexpr int kCompilerMemoryMb = 2048;
constexpr double kCompilerCpuS = 30;

/// Runs `job`, once again in a fresh sandbox when the sandbox failed. False when it failed twice.
template <class Job>
bool twice(Lease& lease, const Job& job) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      job();
      return true;
    } catch (const sandbox::Fault&) {
      lease.renew();
    }
  }
  return false;
}

}  // namespace

std::string compiler_message(const std::string& raw, int& line) {
  std::string out;
  bool own = false;
  std::size_t at = 0;
  const std::string text = to_utf8(raw);
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string one = text.substr(at, end - at);
    at = end + 1;
    if (one.rfind("solution.cpp:", 0) == 0) {
      own = one.size() > 13 && std::isdigit(static_cast<unsigned char>(one[13])) &&
            one.find(" note: ") == std::string::npos;
      if (own && line == 0 && one.find("error:") != std::string::npos) line = std::atoi(one.c_str() + 13);
      one.replace(0, 13, "line ");
    } else if (!one.empty() && one[0] != ' ') {
      // The linker's words, without its file names.
      own = false;
      for (const char* word :
           {"undefined reference", "multiple definition", "out of memory", "fatal error: Killed"}) {
        const std::size_t found = one.find(word);
        if (found != std::string::npos) own = true, one.erase(0, found);
      }
    }
    if (own && out.size() + one.size() < 1500) out += one + "\n";
  }
  return out;
}

Program compile_python(Pool& pool, const std::string& source) {
  Program program;
  Lease lease(pool);
  lease.keep("source", source);
  const bool ran = twice(lease, [&] {
    program = {};
    Child child;
    child.kind = "compile";
    child.limits.cpu_s = kCompilerCpuS;
    child.limits.wall_s = 4 * kCompilerCpuS;
    child.limits.memory_mb = kCompilerMemoryMb;
    lease.box().start(child);
    Fields message;
    bool answered = false;
    while (lease.box().next(message)) {
      answered = true;
      if (message[0] == "source") {
        program.source = true;
        program.bytes = source;
      } else if (message[0] == "code" && message.size() == 2) {
        program.bytes = std::move(message[1]);
      } else if (message[0] == "error" && message.size() == 4) {
        program.failed = "compile_error";
        program.line = std::atoi(message[2].c_str());
        program.message = message[1] + ": " + shorten(to_utf8(message[3]), 300);
      }
    }
    const Ended& ended = lease.box().ended();
    program.compile_s = ended.cpu_s;
    if (answered) return;
    const bool late = ended.end == End::kCpu || ended.end == End::kWall;
    program.failed = late ? "compile_timeout" : "compile_error";
    program.message =
        late ? "compiling takes too long" : "the program is too deeply nested or too large to compile";
  });
  program.unsure = !ran || program.failed == "compile_timeout";
  if (!ran) {
    program.failed = "compile_error";
    program.message = "the compiler did not survive this program";
  }
  return program;
}

namespace {

const char* const kPreludeFolder = "leap-pch";
constexpr int kProgramsUntilPrelude = 3;  // it costs as much time as it saves three of them

/// What a header compiled beforehand and the program that uses it must agree on.
std::vector<std::string> compiler(const std::string& standard) {
  return {"/usr/bin/g++", "-std=" + standard, "-O2", "-fdiagnostics-color=never", "-fmax-errors=10",
          "-w",           "-pthread"};
}

Child compiler_child(std::vector<std::string> arguments) {
  Child child;
  child.kind = "binary";
  child.limits.cpu_s = kCompilerCpuS;
  child.limits.wall_s = 4 * kCompilerCpuS;
  child.limits.memory_mb = kCompilerMemoryMb;
  child.limits.file_mb = 256;
  child.arguments = std::move(arguments);
  return child;
}

/// Known-good code in a sandbox of its own: does the compiler work at all?
bool compiles_at_all(Pool& pool) {
  try {
    auto box = pool.fresh();
    auto arguments = compiler("gnu++17");
    arguments.insert(arguments.end(), {"-o", "program", "canary.cpp"});
    Child child = compiler_child(std::move(arguments));
    child.files = {{"canary.cpp", "int main() { return 0; }\n"}};
    box->start(child);
    const Ended& ended = box->wait();
    return ended.end == End::kExit && ended.code == 0;
  } catch (const sandbox::Fault&) {
    return false;
  }
}

}  // namespace

bool begins_with_all_headers(std::string_view source) {
  while (true) {
    source = source.substr(std::min(source.find_first_not_of(" \t\r\n"), source.size()));
    if (source.substr(0, 2) == "//") {
      source.remove_prefix(std::min(source.find('\n'), source.size()));
    } else if (source.substr(0, 2) == "/*") {
      const std::size_t end = source.find("*/", 2);
      if (end == std::string_view::npos) return false;
      source.remove_prefix(end + 2);
    } else {
      break;
    }
  }
  std::string line;
  for (const char c : source.substr(0, source.find('\n')))
    if (c != ' ' && c != '\t' && c != '\r') line += c;
  return line.rfind("#include<bits/stdc++.h>", 0) == 0;
}

bool Prelude::serves(Pool& pool, const std::string& source, const std::string& standard) {
  if (!begins_with_all_headers(source)) return false;
  {
    std::lock_guard lock(mutex_);
    if (standard_.empty()) standard_ = standard;
    if (standard != standard_) return false;
    if (state_ == State::kReady) return true;
    if (state_ == State::kMaking || ++seen_ <= kProgramsUntilPrelude) return false;
    state_ = State::kMaking;
  }
  // Where it cannot be made, programs are compiled as without it.
  std::string bytes;
  try {
    auto box = pool.fresh();
    auto arguments = compiler(standard);
    arguments.insert(arguments.end(), {"-x", "c++-header", "-o", "header", "all.h"});
    Child child = compiler_child(std::move(arguments));
    child.files = {{"all.h", "#include <bits/stdc++.h>\n"}};
    box->start(child);
    const Ended ended = box->wait();
    if (ended.end == End::kExit && ended.code == 0) bytes = box->fetch("header");
  } catch (const sandbox::Fault&) {
  }
  if (bytes.empty()) return false;
  pool.share(std::string(kPreludeFolder) + "/bits/stdc++.h.gch", bytes);
  std::lock_guard lock(mutex_);
  state_ = State::kReady;
  return true;
}

Program compile_cpp(Pool& pool, const std::vector<CppSource>& sources, const std::string& standard,
                    Prelude* prelude) {
  Program program;
  program.native = true;
  const bool prepared = prelude && prelude->serves(pool, sources[0].text, standard);
  Lease lease(pool);
  const bool ran = twice(lease, [&] {
    program = {};
    program.native = true;
    auto arguments = compiler(standard);
    if (prepared) arguments.insert(arguments.end(), {"-I", kPreludeFolder});
    arguments.insert(arguments.end(), {"-o", "program", sources[0].name});
    for (const CppSource& source : sources)
      if (source.name.size() > 2 && source.name.compare(source.name.size() - 2, 2, ".a") == 0)
        arguments.push_back(source.name);
    Child child = compiler_child(std::move(arguments));
    // For what includes it a second time.
    if (prepared)
      child.files.emplace_back(std::string(kPreludeFolder) + "/bits/stdc++.h",
                               "#include_next <bits/stdc++.h>\n");
    for (const CppSource& source : sources) child.files.emplace_back(source.name, source.text);
    lease.box().start(child);
    const Ended ended = lease.box().wait();
    program.compile_s = ended.cpu_s;
    if (ended.end == End::kExit && ended.code == 0) {
      program.bytes = lease.box().fetch("program");
      if (!program.bytes.empty()) return;
    }
    if (ended.end == End::kExit && ended.code == 126 && ended.err.empty())
      throw Error("cannot run /usr/bin/g++: install g++");
    const bool late = ended.end == End::kCpu || ended.end == End::kWall;
    program.failed = late ? "compile_timeout" : "compile_error";
    program.message = late ? "compiling takes too long" : compiler_message(ended.err, program.line);
    program.in_driver = !late && program.line == 0 && ended.err.find("driver.") != std::string::npos;
  });
  // A failure that is not about the program's text may be the machine's.
  if (ran && program.failed == "compile_error" && program.message.empty() && !compiles_at_all(pool))
    throw Error("/usr/bin/g++ does not work: install g++ and binutils anew");
  program.unsure = !ran || program.failed == "compile_timeout";
  if (!ran) {
    program.failed = "compile_error";
    program.message = "the compiler did not survive this program";
  }
  return program;
}

}  // namespace leap::verify
