/// The letters of all C++ programs of some cells.
///
/// Theory. A run says which functions it called. As runs are deterministic, programs with the same
/// implementations of those end alike: one run settles a box. What it does not settle is cut along the called
/// functions, in order of their first calls, and goes on. No process of a candidate ever forks for this.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decomp/cpp_programs.hpp"
#include "decomp/outcomes.hpp"

namespace leap::decomp {

struct CppLetters {
  Cell cell;
  std::string letters;  ///< one a test, up to the first failing one where not all were asked for
};

struct CppQuestion {
  std::size_t tests = 0;
  bool tree = true;                   ///< else each program is run by itself
  bool all = false;                   ///< tests after the first failing one too
  std::uint64_t key = 0;              ///< of what is audited
  std::function<bool()> out_of_time;  ///< thread-safe
};

struct CppAnswer {
  std::vector<CppLetters> letters;  ///< disjoint; incomplete ones where time ran out
  bool refuted = false;             ///< an audited program ended otherwise as a whole: all were compiled so
};

/// `programs` must be prepared.
CppAnswer explore_cpp(CppPrograms& programs, const std::vector<Cell>& cells, const CppQuestion& question);

}  // namespace leap::decomp
