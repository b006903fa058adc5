/// Which implementations of a C++ decomposition can be compiled side by side, and the text that does it.
///
/// Theory. One translation unit holds the preamble, every implementation under names of its own, and main. A
/// declared function is a stub that notes its use and calls the implementation that the process was started
/// with, so that one binary is all k^n programs. That is exact only where an implementation means the same
/// under other names and beside others; the gate is conservative (its own lexer, no macros, no names that the
/// library or the preamble has too), and what it refuses is compiled in whole programs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "decomp/program.hpp"

namespace leap::decomp {

/// How the programs of an implementation are compiled.
enum class CppPart {
  kShared,      ///< beside the others
  kUnbalanced,  ///< its braces do not match: no program with it compiles, unless another one's make up for it
  kBroken,      ///< no program with it compiles, whatever the others are
  kWhole,       ///< by whole programs
};

struct CppImplementation {
  CppPart part = CppPart::kWhole;
  std::string why;              ///< of kWhole
  std::set<std::string> names;  ///< that it gives to what it defines besides its function
  std::set<std::string> words;  ///< every word of its text
  std::string type;             ///< of its function, as text
  std::string text;             ///< under names of its own
};

struct CppParts {
  std::string why;  ///< why nothing can be shared; else empty
  std::vector<std::vector<CppImplementation>> functions;
  std::string tree;  ///< why a run may end otherwise the next time; else empty
};

/// The file that a run leaves in its directory, where it has no server: kLeapMagic, then for each function
/// when it was first called (1, 2, ..; 0: never).
inline constexpr const char* kCppReport = "leaprt_calls";

inline constexpr const char* kCppPrefix = "leaprt_";  ///< of all names that are ours

/// What the i-th implementation, counted from 1 through all functions, calls `name`.
std::string cpp_own_name(const std::string& name, int index);

/// The line of an implementation's first line in the text below, for the compiler's words.
inline constexpr int kCppLines = 100000;

/// Has `a` a word of `b`?
bool share_any(const std::set<std::string>& a, const std::set<std::string>& b);

CppParts read_cpp(const Decomposition& decomposition);

/// The program that is all programs of the implementations that are kShared. Line kCppLines * i + 1 is the
/// first of the i-th implementation, counted from 1 through all functions. Behind the last implementation of
/// a function there is one that returns {}. It is linked with cpp_runtime(). Empty when a function has none.
std::string shared_text(const Decomposition& decomposition, const CppParts& parts);

/// argv[0] of the program made of these.
std::string shared_argument(const std::vector<int>& choice);

}  // namespace leap::decomp
