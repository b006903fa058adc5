/// CUDA C++ on the CPU: a candidate's source becomes C++ that g++ compiles against headers and a runtime of
/// our own.
///
/// The parent only makes text and command lines here; compiling and running happen in a sandbox. Steps:
/// 1. lay toolchain() into a directory and make there, once for all candidates, what header_of(), base_of()
/// and
///    link_words() say;
/// 2. translate() a candidate; stop at its findings, else compile it by compile_command();
/// 3. link_command() its object with the base, which holds trial driver and runtime.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace leap::cudacpu {

/// Limits of a device, as the runtime and the translation hold to them.
struct Profile {
  std::string name;   ///< sm_80, sm_90
  int cuda_arch = 0;  ///< __CUDA_ARCH__
  int multiprocessors = 0;
  int max_threads_per_block = 1024;
  int max_threads_per_multiprocessor = 2048;
  int static_shared_bytes = 48 << 10;  ///< a block, also dynamic without cudaFuncSetAttribute
  int optin_shared_bytes = 0;          ///< a block, dynamic and static, after cudaFuncSetAttribute
};

/// UsageError for an unknown name.
const Profile& profile(std::string_view name);

/// Why a source is refused before it is compiled.
struct Finding {
  int line = 0;        ///< of the candidate's source, from 1
  std::string status;  ///< compile_error, interface_error
  std::string message;
};

/// C++ with the candidate's line numbers, and what is wrong with it.
struct Translation {
  std::string text;
  std::vector<Finding> findings;  ///< by line; the text is worth compiling only when there are none
  bool all_headers = false;       ///< it needs more of the standard library than most do
  /// Functions outside of all namespaces that host code cannot call, and the word that says so: __global__,
  /// __device__.
  std::map<std::string, std::string> device_functions;
};

Translation translate(std::string_view source, const Profile& profile);

enum class Build {
  kFast,     ///< no checks
  kChecked,  ///< memory and race checks of the runtime
};

/// How a candidate is compiled. Each has a precompiled header of its own.
struct Recipe {
  Build build = Build::kFast;
  bool all_headers = false;  ///< of the standard library, ready; else those that most candidates need
  bool lines = false;        ///< the program knows the lines of its addresses; its code is the same

  bool operator<(const Recipe& other) const {
    return std::tie(build, all_headers, lines) < std::tie(other.build, other.all_headers, other.lines);
  }
};

struct SourceFile {
  std::string path;  ///< relative, with directories
  std::string text;
};

/// All headers and runtime sources. The compiler needs the headers ("include/..") at every compilation.
const std::vector<SourceFile>& toolchain();

/// Files that are made once, and how.
struct Prepared {
  std::vector<std::string> files;
  std::vector<std::vector<std::string>> commands;  ///< each an argv, to run in the toolchain's directory
};

Prepared header_of(const Recipe& recipe);
Prepared runtime_of(Build build);  ///< one object, for base_of()
/// Objects (a driver's, which has main), the runtime's and what they use of the C++ library, as one object.
Prepared base_of(Build build, const std::vector<std::string>& objects, const std::string& name);
/// Where the linker finds what a program begins and ends with.
Prepared link_words();

/// To run in the toolchain's directory. `source` is a translated candidate, or a driver that includes
/// <cuda_runtime.h>.
std::vector<std::string> compile_command(const Recipe& recipe, const std::string& source,
                                         const std::string& object);
/// The linker, which kernels cannot do without; empty where it is not installed.
std::string linker();
std::vector<std::string> link_command(const std::string& base, const std::vector<std::string>& objects,
                                      const std::string& program);

/// What an error message of the compiler says about a feature that is not covered: "cudaFoo", "<cufft.h>".
/// Empty when the message is about the candidate's own mistakes.
std::string uncovered_feature(std::string_view compiler_message);

/// Changes whenever a translation, a header or the runtime does: part of cache keys.
std::string version();

}  // namespace leap::cudacpu
