// The toolchain of a sandbox: its files, its commands, and what its messages mean.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "cudacpu/cudacpu.hpp"
#include "cudacpu/toolchain_files.hpp"

namespace leap::cudacpu {
namespace {

const char* const kCompiler = "/usr/bin/g++";
const char* const kLinker = "/usr/bin/ld.gold";

/// CUDA's headers, and what of ours each stands for. Empty: all of it is there anyway.
const std::map<std::string, std::string, std::less<>>& shadow_headers() {
  static const std::map<std::string, std::string, std::less<>> headers = {
      {"cuda_runtime.h", ""},
      {"cuda_runtime_api.h", ""},
      {"cuda.h", ""},
      {"device_launch_parameters.h", ""},
      {"device_functions.h", ""},
      {"vector_types.h", ""},
      {"vector_functions.h", ""},
      {"driver_types.h", ""},
      {"builtin_types.h", ""},
      {"host_defines.h", ""},
      {"math_functions.h", ""},
      {"device_atomic_functions.h", ""},
      {"sm_20_intrinsics.h", ""},
      {"sm_30_intrinsics.h", ""},
      {"sm_32_intrinsics.h", ""},
      {"sm_35_intrinsics.h", ""},
      {"cuda_profiler_api.h", ""},
      {"cuda_pipeline_primitives.h", ""},
      {"cuda_device_runtime_api.h", ""},
      {"channel_descriptor.h", ""},
      {"crt/host_defines.h", ""},
      {"crt/device_functions.h", ""},
      {"crt/math_functions.h", ""},
      {"nvToolsExt.h", ""},
      {"math_constants.h", "leap_cuda/math_constants.h"}};
  return headers;
}

std::vector<std::string> flags(Build build) {
  std::vector<std::string> out = {kCompiler,
                                  "-std=c++17",
                                  "-pthread",
                                  "-w",
                                  "-fno-strict-aliasing",
                                  "-fdiagnostics-color=never",
                                  "-fmax-errors=10",
                                  "-fno-math-errno",
                                  "-ftls-model=local-exec"};
#if defined(__x86_64__)
  // Half precision and fused multiply-add are in hardware there.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("f16c"))
    out.push_back("-march=x86-64-v3");
#endif
  if (build == Build::kChecked) out.insert(out.end(), {"-DLEAP_CHECKED", "-fno-omit-frame-pointer"});
  return out;
}

/// What a candidate is compiled with beside flags(). Most of a kernel's time goes into compiling it, and -O2
/// makes it no faster. The checker stands for the sanitizers' libraries.
std::vector<std::string> candidate_flags(const Recipe& recipe) {
  std::vector<std::string> out = flags(recipe.build);
  out.insert(out.end(), {"-O1", "-finline-functions", "-finline-small-functions"});
  if (recipe.all_headers) out.push_back("-DLEAP_ALL_HEADERS");
  if (recipe.build == Build::kFast) return out;
  // Structures that go by value into functions are seen only where those are inlined.
  out.insert(out.end(), {"--param=max-inline-insns-auto=60", "--param=early-inlining-insns=40",
                         "-fno-aggressive-loop-optimizations", "-fsanitize=thread,bounds,alignment",
                         "--param=tsan-instrument-func-entry-exit=0", "--param=tsan-distinguish-volatile=1"});
  if (recipe.lines) out.insert(out.end(), {"-g1", "-gdwarf-4"});
  return out;
}

std::string directory(const Recipe& recipe) {
  return std::string(recipe.build == Build::kChecked ? "checked" : "fast") +
         (recipe.all_headers ? "_all" : "") + (recipe.lines ? "_lines" : "");
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> out;
  for (const bool all : {false, true}) {
    out.push_back({Build::kFast, all, false});
    for (const bool lines : {false, true}) out.push_back({Build::kChecked, all, lines});
  }
  return out;
}

// One section of each kind: the linker has less to look at, for every candidate.
constexpr const char* kMerge = R"(SECTIONS {
  .preinit_array 0 : { KEEP(*(.preinit_array)) }
  .init_array 0 : { KEEP(*(SORT_BY_INIT_PRIORITY(.init_array.*) .init_array)) }
  .text 0 : { *(.text .text.*) }
  .rodata 0 : { *(.rodata .rodata.*) }
  .data.rel.ro 0 : { *(.data.rel.ro .data.rel.ro.*) }
  .data 0 : { *(.data .data.*) }
  .bss 0 : { *(.bss .bss.*) *(COMMON) }
  .tdata 0 : { *(.tdata .tdata.*) }
  .tbss 0 : { *(.tbss .tbss.*) }
  .gcc_except_table 0 : { *(.gcc_except_table .gcc_except_table.*) }
  .eh_frame 0 : { *(.eh_frame) }
  /DISCARD/ : { *(.comment) *(.note.*) *(.debug*) }
}
)";
constexpr const char* kMergeFile = "runtime/merge.ld";
constexpr const char* kLinkBegin = "link_begin.txt";
constexpr const char* kLinkEnd = "link_end.txt";

}  // namespace

/// The one header of ours behind every header of a library.
std::string library_of(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
  if (begins("thrust/")) return "leap_cuda/thrust.h";
  if (begins("cuda/")) return "leap_cuda/libcu.h";
  if (begins("cub/")) return "leap_cuda/cub.h";
  return "";
}

bool is_known_header(std::string_view name) {
  if (!library_of(name).empty()) return true;
  if (shadow_headers().count(name)) return true;
  const std::string path = "include/" + std::string(name);
  const auto& files = embedded_files();
  return std::any_of(files.begin(), files.end(), [&](const SourceFile& file) { return file.path == path; });
}

const Profile& profile(std::string_view name) {
  static const std::array<Profile, 2> profiles = {{{"sm_80", 800, 108, 1024, 2048, 48 << 10, 163 << 10},
                                                   {"sm_90", 900, 132, 1024, 2048, 48 << 10, 227 << 10}}};
  for (const Profile& one : profiles)
    if (one.name == name) return one;
  throw UsageError("unknown device '" + std::string(name) + "': sm_80 or sm_90");
}

const std::vector<SourceFile>& toolchain() {
  static const std::vector<SourceFile> files = [] {
    std::vector<SourceFile> out = embedded_files();
    for (const auto& [name, target] : shadow_headers())
      out.push_back({"include/" + name, "#pragma once\n#include \"leap_cuda.h\"\n" +
                                            (target.empty() ? "" : "#include \"" + target + "\"\n")});
    // Stands beside the precompiled header, for what includes it again.
    for (const Recipe& recipe : recipes())
      out.push_back({directory(recipe) + "/leap_cuda.h", "#include_next <leap_cuda.h>\n"});
    // One translation unit: it is compiled once anyway.
    std::string all;
    for (const SourceFile& file : embedded_files())
      if (file.path.rfind("runtime/", 0) == 0 && file.path.rfind(".cpp") == file.path.size() - 4)
        all += "#include \"" + file.path.substr(8) + "\"\n";
    out.push_back({"runtime/all.cc", all});
    out.push_back({kMergeFile, kMerge});
    return out;
  }();
  return files;
}

Prepared header_of(const Recipe& recipe) {
  const std::string file = directory(recipe) + "/leap_cuda.h.gch";
  auto command = candidate_flags(recipe);
  command.insert(command.end(), {"-Iinclude", "-x", "c++-header", "include/leap_cuda.h", "-o", file});
  return {{file}, {command}};
}

Prepared runtime_of(Build build) {
  const std::string file = directory({build, false, false}) + "/runtime.o";
  auto command = flags(build);
  command.insert(command.end(),
                 {"-O2", "-Iinclude", "-Iruntime", "-x", "c++", "-c", "runtime/all.cc", "-o", file});
  return {{file}, {command}};
}

Prepared base_of(Build build, const std::vector<std::string>& objects, const std::string& name) {
  std::vector<std::string> command = {
      kCompiler, "-r", "-nostdlib", std::string("-Wl,--force-group-allocation,-x,-T,") + kMergeFile,
      "-o",      name};
  command.insert(command.end(), objects.begin(), objects.end());
  command.insert(command.end(), {runtime_of(build).files[0], "-l:libstdc++.a", "-l:libgcc_eh.a",
                                 "-l:libgcc.a", "-l:libc_nonshared.a"});
  return {{name}, {command}};
}

Prepared link_words() {
  const auto print = [](const char* names, const char* file) {
    return std::string("for f in ") + names + "; do " + kCompiler + " -print-file-name=$f || exit 1; done >" +
           file;
  };
  return {{kLinkBegin, kLinkEnd},
          {{"/bin/sh", "-c", print("Scrt1.o crti.o crtbeginS.o", kLinkBegin)},
           {"/bin/sh", "-c",
            print("libstdc++.a libgcc_eh.a libgcc.a libc_nonshared.a libm.so.6 libc.so.6 crtendS.o crtn.o",
                  kLinkEnd)}}};
}

std::vector<std::string> compile_command(const Recipe& recipe, const std::string& source,
                                         const std::string& object) {
  auto out = candidate_flags(recipe);
  out.insert(out.end(), {"-I" + directory(recipe), "-Iinclude", "-include", "leap_cuda.h", "-x", "c++", "-c",
                         source, "-o", object});
  return out;
}

std::string linker() {
  return access(kLinker, X_OK) == 0 ? kLinker : "";
}

// Not by way of g++, which would spend as much time again.
std::vector<std::string> link_command(const std::string& base, const std::vector<std::string>& objects,
                                      const std::string& program) {
  std::vector<std::string> out = {
    kLinker,
    "-pie",
    "--eh-frame-hdr",
    "-dynamic-linker",
#if defined(__aarch64__)
    "/lib/ld-linux-aarch64.so.1",
#else
    "/lib64/ld-linux-x86-64.so.2",
#endif
    "-o",
    program,
    std::string("@") + kLinkBegin,
    base
  };
  out.insert(out.end(), objects.begin(), objects.end());
  out.push_back(std::string("@") + kLinkEnd);
  return out;
}

std::string uncovered_feature(std::string_view message) {
  // g++ quotes names in either style.
  const auto quoted = [&](std::size_t at) -> std::string {
    for (const std::string_view open : {std::string_view("\xe2\x80\x98"), std::string_view("'")}) {
      const std::size_t begin = message.find(open, at);
      if (begin == std::string_view::npos) continue;
      const std::size_t from = begin + open.size();
      const std::size_t end = message.find(open == "'" ? "'" : "\xe2\x80\x99", from);
      if (end != std::string_view::npos) return std::string(message.substr(from, end - from));
    }
    return "";
  };
  for (const std::string_view phrase :
       {"was not declared in this scope", "has not been declared", "does not name a type",
        "is not a member of", "no matching function for call to", "was not declared"}) {
    for (std::size_t at = message.find(phrase); at != std::string_view::npos;
         at = message.find(phrase, at + 1)) {
      const std::size_t line = message.rfind("error:", at);
      if (line == std::string_view::npos || message.find('\n', line) < at) continue;
      const std::string name = quoted(line);
      const std::string_view rest = message.substr(at, message.find('\n', at) - at);
      const auto begins = [&](std::string_view prefix) {
        return name.compare(0, prefix.size(), prefix) == 0;
      };
      const auto upper_after = [&](std::size_t n) {
        return name.size() > n && std::isupper(static_cast<unsigned char>(name[n]));
      };
      const bool api = (begins("cuda") && upper_after(4)) || (begins("cu") && upper_after(2)) ||
                       begins("cublas") || begins("cudnn") || begins("curand") || begins("cusparse") ||
                       begins("cufft") || begins("nvtx") || begins("__nv_") || begins("CU_") ||
                       begins("CUDA");
      bool library = false;
      for (const std::string_view space : {"cub", "thrust", "cooperative_groups", "cg", "nvcuda", "wmma",
                                           "cuda", "cute", "cutlass", "torch", "at", "c10"})
        library |= phrase == "is not a member of" &&
                   (rest.find("\x98" + std::string(space)) != std::string_view::npos ||
                    rest.find("'" + std::string(space)) != std::string_view::npos);
      if (api || library) return name;
    }
  }
  return "";
}

std::string version() {
  static const std::string value = [] {
    std::string all = "1";
    for (const SourceFile& file : toolchain()) all += file.path + '\0' + file.text + '\0';
    for (const Recipe& recipe : recipes())
      for (const std::string& flag : candidate_flags(recipe)) all += flag + '\0';
    return sha256(all).substr(0, 16);
  }();
  return value;
}

}  // namespace leap::cudacpu
