/// A balanced sample of a decomposition's programs.
#pragma once

#include <cstdint>
#include <vector>

namespace leap::decomp {

/// `count` different choices (all of them, in order, when there are no more), sorted. Each implementation of
/// a function is in as many of them as any other, give or take one. Depends on `key` alone.
std::vector<std::vector<int>> balanced_sample(const std::vector<int>& sizes, std::uint64_t count,
                                              std::uint64_t key);

}  // namespace leap::decomp
