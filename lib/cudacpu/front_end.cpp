#include "cudacpu/front_end.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace leap::cudacpu {
namespace {

constexpr std::string_view kDeclarations = R"(#pragma once
#include <stddef.h>
#include <stdlib.h>
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC__ 1
#define __NVCC__ 1
#include "leap_cuda/vectors.h"
typedef struct CUstream_st* cudaStream_t;
extern const __attribute__((device)) uint3 threadIdx, blockIdx;
extern const __attribute__((device)) dim3 blockDim, gridDim;
constexpr int warpSize = 32;
extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
extern "C" int __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = 0);
)";

// CUDA declares these for both sides, so that a candidate's own of the name is not the only one.
const std::set<std::string_view> kBothSides = {
    "abs",    "min",  "max",    "pow",    "sqrt", "exp",   "log",   "floor", "ceil", "fabs",  "printf",
    "malloc", "free", "memcpy", "memset", "swap", "isnan", "isinf", "fmin",  "fmax", "assert"};

// Host code of the standard library that models call from kernels.
const std::set<std::string_view> kHostNames = {"rand",        "srand",      "fprintf",    "fopen", "puts",
                                               "putchar",     "exit",       "getenv",     "time",  "sort",
                                               "stable_sort", "accumulate", "nth_element"};
constexpr std::array<std::string_view, 8> kHostTypes = {
    "std::vector<",        "std::basic_string<", "std::string'",        "std::map<",
    "std::unordered_map<", "std::list<",         "std::basic_ostream<", "std::ostream'"};

struct Message {
  std::string_view file;
  int line = 0;
  bool error = false;
  std::string_view text;
};

// kernel.cu:12:3: error: ...
bool parse(std::string_view line, Message* message) {
  for (const std::string_view kind : {": error: ", ": note: "}) {
    const std::size_t at = line.find(kind);
    if (at == std::string_view::npos) continue;
    const std::string_view place = line.substr(0, at);
    const std::size_t column = place.rfind(':');
    if (column == std::string_view::npos || column == 0) continue;
    const std::size_t number = place.rfind(':', column - 1);
    if (number == std::string_view::npos) continue;
    message->file = place.substr(0, number);
    message->error = kind == ": error: ";
    message->text = line.substr(at + kind.size());
    const std::string_view digits = place.substr(number + 1, column - number - 1);
    return std::from_chars(digits.data(), digits.data() + digits.size(), message->line).ec == std::errc();
  }
  return false;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view quoted(std::string_view text) {
  const std::size_t from = text.find('\'');
  const std::size_t to = from == std::string_view::npos ? from : text.find('\'', from + 1);
  return to == std::string_view::npos ? "" : text.substr(from + 1, to - from - 1);
}

// "call to __host__ function from __global__ function" -> "__host__", "__global__"
std::string wrong_side(std::string_view note) {
  constexpr std::string_view kCall = "call to ", kFrom = " function from ";
  const std::size_t call = note.find(kCall), from = note.find(kFrom);
  if (call == std::string_view::npos || from == std::string_view::npos) return "";
  const std::string_view callee = note.substr(call + kCall.size(), from - call - kCall.size());
  std::string_view caller = note.substr(from + kFrom.size());
  caller = caller.substr(0, caller.find(" function"));
  return "a " + std::string(callee) + " function is called from a " + std::string(caller) + " function";
}

// What is wrong, in a sentence; empty when the messages may come from what we do not declare.
std::string explain(const Message& error, const std::vector<Message>& notes, std::string_view source) {
  const std::string_view text = error.text;
  const std::string name(quoted(text));
  const auto own_note = [&](std::string_view part) {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const Message& note) { return note.file == source && has(note.text, part); });
  };
  for (const std::string_view part :
       {"must have void return type", "local variables not allowed in __host__ functions",
        "initialization is not supported for __shared__ variables",
        "dynamic initialization is not supported for __device__"})
    if (has(text, part)) return std::string(text);
  if (has(text, "call to global function") && has(text, "not configured"))
    return "a __global__ function call must be configured: " + name;
  if (has(text, "reference to __host__ variable") && own_note("declared here"))
    return "the host variable " + name + " is used in device code";
  if (has(text, "reference to __host__ function") || has(text, "reference to __device__ function")) {
    if (kBothSides.count(name) || (!own_note("declared here") && !kHostNames.count(name))) return "";
    return std::string(text);
  }
  std::string side;
  bool all = true, own = false;
  for (const Message& note : notes) {
    if (!has(note.text, "candidate")) continue;
    const std::string found = wrong_side(note.text);
    all &= !found.empty();
    own |= note.file == source;
    if (side.empty()) side = found;
  }
  if (side.empty()) return "";
  if (has(text, "no matching function for call to") &&
      ((all && own && !kBothSides.count(name)) || (!own && kHostNames.count(name))))
    return side + ": " + name;
  if (has(side, "a __host__ function"))
    for (const std::string_view type : kHostTypes)
      if (has(text, type)) return "a host type is used in device code: " + name;
  return "";
}

}  // namespace

std::string front_end_compiler() {
  for (const char* path : {"/usr/bin/clang++", "/usr/local/bin/clang++"})
    if (::access(path, X_OK) == 0) return path;
  return "";
}

std::vector<SourceFile> front_end_files() {
  std::vector<SourceFile> files{{"front_end/leap_front_end.h", std::string(kDeclarations)}};
  for (const SourceFile& file : toolchain()) {
    constexpr std::string_view kInclude = "include/";
    if (file.path.rfind(kInclude, 0) != 0) continue;
    const std::string name = file.path.substr(kInclude.size());
    if (name == "leap_cuda/vectors.h")
      files.push_back({"front_end/" + name, file.text});
    else if (name.rfind("leap_cuda/", 0) != 0 && name.rfind("leap_cuda.", 0) != 0)
      files.push_back({"front_end/" + name, "#pragma once\n"});
  }
  return files;
}

std::vector<std::string> front_end_command(const std::string& compiler, const std::string& source) {
  return {compiler,
          "-x",
          "cuda",
          "--cuda-device-only",
          "-nocudalib",
          "-nocudainc",
          "-std=c++17",
          "-fsyntax-only",
          "-ferror-limit=0",
          "-w",
          "-fno-caret-diagnostics",
          "-fno-color-diagnostics",
          "--cuda-gpu-arch=sm_80",
          "-Wno-unknown-cuda-version",
          "-ftemplate-depth=256",
          "-I",
          "front_end",
          "-include",
          "front_end/leap_front_end.h",
          source};
}

std::vector<Finding> front_end_findings(std::string_view messages, std::string_view source) {
  std::vector<Finding> findings;
  std::set<std::pair<int, std::string>> seen;
  Message error;
  std::vector<Message> notes;
  const auto judge = [&] {
    if (!error.error || error.file != source) return;
    const std::string message = explain(error, notes, source);
    if (!message.empty() && seen.insert({error.line, message}).second)
      findings.push_back({error.line, "compile_error", message});
  };
  while (!messages.empty()) {
    const std::size_t end = std::min(messages.find('\n'), messages.size());
    Message message;
    if (parse(messages.substr(0, end), &message)) {
      if (message.error) {
        judge();
        error = message;
        notes.clear();
      } else {
        notes.push_back(message);
      }
    }
    messages.remove_prefix(std::min(end + 1, messages.size()));
  }
  judge();
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.line < b.line; });
  return findings;
}

}  // namespace leap::cudacpu
