/// Comparison of outputs, as the judges of programming contests do it.
#pragma once

#include <string_view>

namespace leap::verify {

enum class Compare { kTokens, kLines, kExact };

/// `tokens`: split at white space, tokens equal as text or both decimal numbers of equal value (within
/// tolerance * max(1, |want|) where tolerance > 0); `lines`: without white space at line ends and empty lines
/// at the end.
bool same_output(std::string_view got, std::string_view want, Compare how, double tolerance);

}  // namespace leap::verify
