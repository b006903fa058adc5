/// Programs explored by forking: a run forks where it first calls a declared function, once for each
/// implementation.
///
/// Theory. Until then the programs that differ in that function alone are one run; programs that never call
/// it share a leaf. A process that forks goes on in its children only: it waits for each, adds what they
/// found to what it knows and hands that to its own parent, so no process can say anything of programs that
/// it does not hold. Each child has files of its own, cut from its parent's where these were, and the CPU
/// time spent so far counts for it.
#pragma once

#include <string_view>
#include <vector>

#include "decomp/outcomes.hpp"
#include "program.hpp"

namespace leap::decomp {

/// Of a leaf, as a child hands it on.
struct Leaf {
  std::vector<std::int32_t> choice;  ///< -1: never called
  std::uint8_t end = 0, flags = 0;
  std::int32_t code = 0;
  double cpu_s = 0;
  std::int64_t rss_kb = 0;
  std::string output;
};

/// In a child: runs the programs of `cells` on a test. Leaves; the leaves of the tree are then in
/// `result_fd`, marked by kCollected, unless no declared function was called.
[[noreturn]] void run_tree(const Source& source, const std::vector<Cell>& cells, const Test& test,
                           double deadline_s, Shared& shared, int result_fd);

std::vector<Leaf> read_leaves(std::string_view bytes, std::size_t functions);

}  // namespace leap::decomp
