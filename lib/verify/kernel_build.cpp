#include "verify/kernel_build.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <regex>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "cudacpu/front_end.hpp"
#include "cudacpu/needs.hpp"

namespace leap::verify {

extern const char kFrames[];
extern const char kKernelDriver[];

namespace kernel {

using cudacpu::Build;
using cudacpu::Prepared;
using cudacpu::Recipe;
using sandbox::Child;
using sandbox::End;
using sandbox::Ended;

namespace {

constexpr double kCompilerCpuS = 60;
constexpr const char* kSource = "leap_text.cpp";  // the translated text, which calls itself:
constexpr const char* kOwn = "solution.cpp";      // the candidate's own, for the compiler to quote from
constexpr const char* kCuda = "solution.cu";      // the same, for the front end
constexpr const char* kFrontEndWords = "leap_front_end.txt";
constexpr const char* kEntry = "leap_main.cpp";  // includes the source
constexpr std::size_t kMostLaid = 32u << 20;     // a larger file is written for longer than it saves

/// Compares types without looking at const of a pointee and __restrict__.
constexpr const char* kEntryHeader = R"(#pragma once
#include <type_traits>
namespace leap_entry {
template <class T> struct Plain { using type = T; };
template <class T> struct Plain<T*> { using type = std::remove_const_t<T>*; };
template <class... T> struct List {};
template <class F> struct Of { using type = void; };
template <class... T> struct Of<void(T...)> { using type = List<typename Plain<T>::type...>; };
template <class... T> struct Of<void(T...) noexcept> { using type = List<typename Plain<T>::type...>; };
template <class F, class... T> inline constexpr bool fits = std::is_same_v<typename Of<F>::type, List<T...>>;
}
)";

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

/// Where the user's programs keep what they can make again; nothing where that cannot be used.
std::optional<Cache> user_store() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string path = base && *base == '/' ? base : home && *home == '/' ? std::string(home) + "/.cache" : "";
  if (path.empty()) return {};
  const std::string key = sha256(Workshop::version() + toolchain_stamp()).substr(0, 16);
  for (const std::string& part : {std::string(), std::string("/leaptools"), "/" + key}) {
    path += part;
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return {};
  }
  // Compilers of candidates load what lies there: nobody else may have put it.
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return {};
  try {
    return Cache(path);
  } catch (const Error&) {
    return {};
  }
}

bool is_of_runtime(const cudacpu::SourceFile& file) {
  return file.path.rfind("runtime/", 0) == 0;
}

std::string base_name(Build build, const std::string& driver) {
  return "leap_base_" + driver + (build == Build::kFast ? "_fast.o" : "_checked.o");
}

std::string joined(const std::vector<std::string>& command) {
  std::string out;
  for (const std::string& word : command) out += quoted(word) + " ";
  return out;
}

/// Of a value parameter, out of the driver's arrays.
std::string value_of(const Argument& argument, const std::string& at) {
  if (argument.type == Dtype::kFloat16) return "__float2half(static_cast<float>(leap_r[" + at + "]))";
  if (argument.type == Dtype::kBfloat16) return "__float2bfloat16(static_cast<float>(leap_r[" + at + "]))";
  return "static_cast<" + argument.cpp_type + ">(leap_" + (is_float(argument.type) ? "r[" : "i[") + at + "])";
}

bool has_type(const Check& check, Dtype type) {
  return std::any_of(check.arguments.begin(), check.arguments.end(),
                     [&](const Argument& argument) { return argument.type == type; });
}

/// What errors say that stand in no file of the candidate's.
std::string plain_errors(const std::string& raw) {
  std::string out;
  for (std::size_t at = raw.find("error: "); at != std::string::npos && out.size() < 600;
       at = raw.find("error: ", at)) {
    at += 7;
    const std::string words = to_utf8(raw.substr(at, std::min(raw.find('\n', at), raw.size()) - at));
    if (words.find("leap_") == std::string::npos && words.find("/") == std::string::npos) out += words + "\n";
  }
  return out;
}

/// The words of a failed compilation of a candidate; sets the status.
void explain_failure(const Check& check, const std::string& raw, Program& program) {
  program.failed = "compile_error";
  program.message = compiler_message(raw, program.line);
  const std::string missing = cudacpu::uncovered_feature(raw);
  if (!missing.empty()) {
    program.failed = "interface_error";
    program.message = missing + " is not supported by this verifier.\n" + program.message;
    return;
  }
  auto says = [&](const char* words) { return raw.find(words) != std::string::npos; };
  static const std::regex in_entry("leap_main\\.cpp:[0-9]+:[0-9]+: error");
  static const std::regex calls_reference("undefined (reference to|symbol:) .?reference\\b");
  if (std::regex_search(raw, calls_reference)) {
    program.failed = "interface_error";
    program.message = "`reference` is not there: it must not be called.";
    return;
  }
  if (program.line != 0) return;
  if (says("at end of input")) {
    program.message = "the text ends inside a block: a closing brace is missing";
  } else if (!std::regex_search(raw, in_entry)) {
    if (program.message.empty()) program.message = plain_errors(raw);
  } else {
    program.failed = "interface_error";
    program.in_driver = true;
    program.message = says("assertion failed: leap_no_fit")
                          ? "`solve` has another signature than asked for.\n"
                          : "There is no function `solve` with the signature asked for.\n";
    program.message += "Expected: " + check.signature;
  }
}

/// What was found before or beside the compiler.
void refuse(const std::vector<cudacpu::Finding>& findings, Program& program) {
  program.failed = findings[0].status;
  program.line = findings[0].line;
  for (const auto& finding : findings)
    if (program.message.size() < 1500)
      program.message +=
          (finding.line > 0 ? "line " + std::to_string(finding.line) + ": " : "") + finding.message + "\n";
}

}  // namespace

std::string entry_of(const Check& check, const std::string& function) {
  std::string out = "#include \"leap_entry.h\"\n";
  if (has_type(check, Dtype::kFloat16)) out += "#include <cuda_fp16.h>\n";
  if (has_type(check, Dtype::kBfloat16)) out += "#include <cuda_bf16.h>\n";
  // A program of its own brings a main, which is not run.
  out += "#define main leap_candidate_main\n#include \"" + std::string(kSource) + "\"\n#undef main\n";
  std::string types, values;
  for (std::size_t i = 0; i < check.arguments.size(); ++i) {
    const Argument& argument = check.arguments[i];
    const std::string at = std::to_string(i);
    types += ", " + argument.cpp_type;
    values +=
        (i ? ", " : "") + (argument.is_buffer() ? "static_cast<" + argument.cpp_type + ">(leap_b[" + at + "])"
                                                : value_of(argument, at));
  }
  out += "static_assert(leap_entry::fits<decltype(::" + function + ")" + types + ">, \"leap_no_fit\");\n";
  out +=
      "extern \"C\" void leap_kernel_entry(void* const* leap_b, const long long* leap_i, const double* "
      "leap_r) {\n";
  out += "  (void)leap_b, (void)leap_i, (void)leap_r;\n  ::" + function + "(" + values + ");\n}\n";
  return out;
}

std::string tools_text() {
  const std::string linker = cudacpu::linker(), clang = cudacpu::front_end_compiler();
  return "CUDA kernels:      " +
         (linker.empty() ? "cannot be verified: ld.gold not found (install binutils)"
                         : "linked by " + linker) +
         "; " +
         (clang.empty() ? "clang++ not found (install clang): calls between host and device that CUDA "
                          "refuses are not seen"
                        : "calls between host and device looked at by " + clang) +
         "\n";
}

Workshop::Workshop(sandbox::Mode mode, const Cache* cache)
    : mode_(mode),
      cache_(cache),
      own_store_(cache ? std::nullopt : user_store()),
      pool_({mode, "", 512, {}}) {}

std::string Workshop::version() {
  return cudacpu::version() + sha256(std::string(kKernelDriver) + kFrames + kEntryHeader);
}

/// Runs the commands one after another, as far as they succeed.
Child Workshop::child_of(const std::vector<std::vector<std::string>>& commands) const {
  std::string script;
  for (const auto& command : commands) script += (script.empty() ? "" : " && ") + joined(command);
  Child child;
  child.kind = "binary";
  child.arguments = {"/bin/sh", "-c", script};
  child.limits.cpu_s = kCompilerCpuS;
  child.limits.wall_s = 4 * kCompilerCpuS;
  child.limits.memory_mb = 3072;
  child.limits.file_mb = 512;
  for (const auto& file : cudacpu::toolchain())
    if (!is_of_runtime(file)) child.files.emplace_back(file.path, file.text);
  child.files.emplace_back("leap_entry.h", kEntryHeader);
  return child;
}

/// Names and contents of prepared files.
Workshop::Files Workshop::make_prepared(const std::string& name, const std::vector<Prepared>& steps,
                                        const Files& sources) {
  std::vector<std::string> files;
  std::vector<std::vector<std::string>> commands;
  for (const Prepared& step : steps) {
    files.insert(files.end(), step.files.begin(), step.files.end());
    commands.insert(commands.end(), step.commands.begin(), step.commands.end());
  }
  const std::string key = version() + toolchain_stamp() + name;
  Files out;
  const Cache* store = cache_ ? cache_ : own_store_ ? &*own_store_ : nullptr;
  for (const std::string& file : files) {
    if (!store) break;
    auto kept = store->get("kernel " + file, key);
    if (!kept) {
      out.clear();
      break;
    }
    out.emplace_back(file, std::move(*kept));
  }
  if (!out.empty()) return out;
  Child child = child_of(commands);
  child.limits.cpu_s = 300;
  child.limits.wall_s = 600;
  for (const auto& file : cudacpu::toolchain())
    if (is_of_runtime(file)) child.files.emplace_back(file.path, file.text);
  child.files.insert(child.files.end(), sources.begin(), sources.end());
  for (int attempt = 0;; ++attempt) {
    try {
      auto box = pool_.fresh();
      box->start(child);
      const Ended ended = box->wait();
      if (ended.end != End::kExit || ended.code != 0)
        throw Error("the CUDA runtime for the CPU does not compile: " + shorten(to_utf8(ended.err), 1000));
      for (const std::string& file : files) {
        out.emplace_back(file, box->fetch(file));
        if (out.back().second.empty())
          throw Error("the CUDA runtime for the CPU does not compile: no " + file);
        if (store) store->put("kernel " + file, key, out.back().second);
      }
      return out;
    } catch (const sandbox::Fault&) {
      out.clear();
      if (attempt > 0) throw;
    }
  }
}

void Workshop::prepare(const std::string& name, const std::vector<Prepared>& steps, const Files& sources) {
  if (!prepared_.insert(name).second) return;
  try {
    for (auto& [file, bytes] : make_prepared(name, steps, sources)) {
      if (mode_ != sandbox::Mode::kNone)
        pool_.share(file, bytes);
      else if (bytes.size() < kMostLaid)
        laid_.emplace_back(file, std::move(bytes));
    }
  } catch (...) {
    prepared_.erase(name);
    throw;
  }
}

/// All that compiling and linking by a recipe takes.
void Workshop::prepare(const Recipe& recipe) {
  if (cudacpu::linker().empty()) throw Error("CUDA kernels need ld.gold: install binutils");
  std::lock_guard lock(mutex_);
  prepare("link", {cudacpu::link_words()}, {});
  const Prepared header = cudacpu::header_of(recipe);
  prepare(header.files[0], {header}, {});
  const bool fast = recipe.build == Build::kFast;
  Prepared bases = cudacpu::runtime_of(recipe.build);
  bases.files.clear();
  for (const char* driver : {"driver", "reference"}) {
    const std::string source = std::string("leap_") + driver;
    if (!fast && source != "leap_driver") continue;
    bases.commands.push_back({"/usr/bin/g++", "-std=c++20", "-O2", "-Iinclude", "-I.", "-c", source + ".cpp",
                              "-o", source + ".o"});
    const Prepared base = cudacpu::base_of(recipe.build, {source + ".o"}, base_name(recipe.build, driver));
    bases.files.push_back(base.files[0]);
    bases.commands.insert(bases.commands.end(), base.commands.begin(), base.commands.end());
  }
  prepare(fast ? "fast" : "checked", {bases},
          {{"frames.h", kFrames},
           {"leap_driver.cpp", kKernelDriver},
           {"leap_reference.cpp", std::string("#define LEAP_REFERENCE\n") + kKernelDriver}});
}

Program Workshop::compile(const Job& job) {
  prepare(job.recipe);
  Program program;
  const std::string base = base_name(job.recipe.build, job.function == "solve" ? "driver" : "reference");
  Child child = child_of({cudacpu::compile_command(job.recipe, kEntry, "solution.o"),
                          cudacpu::link_command(base, {"solution.o"}, "program")});
  child.files.emplace_back(kSource, job.text);
  child.files.emplace_back(kOwn, job.own);
  const std::string clang = job.front_end ? cudacpu::front_end_compiler() : "";
  if (!clang.empty()) {
    // Whatever becomes of it: it only advises.
    child.arguments.back() = "/usr/bin/timeout 10 " + joined(cudacpu::front_end_command(clang, kCuda)) +
                             " 2>" + kFrontEndWords + " >/dev/null; " + child.arguments.back();
    child.files.emplace_back(kCuda, job.own);
    for (const auto& file : cudacpu::front_end_files()) child.files.emplace_back(file.path, file.text);
  }
  child.files.emplace_back(kEntry, entry_of(*job.check, job.function));
  {
    std::lock_guard lock(mutex_);
    child.files.insert(child.files.end(), laid_.begin(), laid_.end());
  }
  Lease lease(pool_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    program = {};
    program.native = true;
    try {
      lease.box().start(child);
      const Ended ended = lease.box().wait();
      program.compile_s = ended.cpu_s;
      if (ended.end == End::kExit && ended.code == 0) {
        if (!clang.empty()) {
          const auto findings = cudacpu::front_end_findings(lease.box().fetch(kFrontEndWords), kCuda);
          if (!findings.empty()) {
            refuse(findings, program);
            return program;
          }
        }
        program.bytes = lease.box().fetch("program");
        if (!program.bytes.empty()) return program;
      }
      if (ended.end == End::kCpu || ended.end == End::kWall) {
        program.failed = "compile_timeout";
        program.message = "compiling takes too long";
        program.unsure = true;
      } else {
        explain_failure(*job.check, ended.err, program);
      }
      return program;
    } catch (const sandbox::Fault&) {
      lease.renew();
    }
  }
  program.failed = "compile_error";
  program.message = "the compiler did not survive this program";
  program.unsure = true;
  return program;
}

/// Out of the cache, where it is there.
Program Workshop::compile_kept(const Job& job) {
  if (!cache_) return compile(job);
  const std::string key = version() + toolchain_stamp() + cudacpu::header_of(job.recipe).files[0] + '\n' +
                          entry_of(*job.check, job.function) + job.text;
  if (auto bytes = cache_->get("kernel program", key)) {
    Program program;
    program.native = true;
    program.bytes = std::move(*bytes);
    return program;
  }
  Program program = compile(job);
  if (program.failed.empty()) cache_->put("kernel program", key, program.bytes);
  return program;
}

Program Workshop::candidate(const Check& check, const std::string& source, const cudacpu::Profile& profile,
                            Build build, bool lines) {
  const auto translation = cudacpu::translate(source, profile);
  if (!translation.findings.empty()) {
    Program program;
    program.native = true;
    refuse(translation.findings, program);
    return program;
  }
  if (const auto found = translation.device_functions.find("solve");
      found != translation.device_functions.end()) {
    Program program;
    program.native = true;
    program.failed = "interface_error";
    program.message =
        "`solve` is a " + found->second +
        " function; it must be a function of the host, which launches kernels.\nExpected: " + check.signature;
    return program;
  }
  const bool front_end = build == Build::kChecked && !lines && cudacpu::needs_front_end(source);
  return compile_kept(
      {{build, translation.all_headers, lines}, translation.text, source, "solve", &check, front_end});
}

Program Workshop::reference(const Check& check) {
  return compile_kept({{Build::kFast, cudacpu::needs_all_headers(check.reference), false},
                       "#line 1 \"" + std::string(kOwn) + "\"\n" + check.reference,
                       check.reference,
                       "reference",
                       &check,
                       false});
}

}  // namespace kernel
}  // namespace leap::verify
