/// A decomposition with its implementations, and the text of the programs that they make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leap::decomp {

struct Function {
  std::string name;
  std::vector<std::string> implementations;  ///< the code of each
};

struct Decomposition {
  std::string preamble;  ///< may be empty
  std::vector<Function> functions;
  std::string main;  ///< may be empty
};

/// k1 * k2 * ..: 0 without functions or where one has no implementations. RecordError beyond 2^62.
std::uint64_t program_count(const Decomposition& decomposition);

/// Preamble, chosen code of each function in order, main, joined by newlines; an empty preamble or main is
/// left out.
std::string program_text(const Decomposition& decomposition, const std::vector<int>& choice);

}  // namespace leap::decomp
