/// Outputs of a kernel against the reference's, element by element.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/kernel_values.hpp"

namespace leap::verify::kernel {

struct Comparison {
  std::size_t count = 0, mismatches = 0;
  std::size_t nonfinite = 0;  ///< of the mismatches: NaN or infinity where a finite number is wanted
  std::size_t first = 0;      ///< index of the first mismatch
  double got = 0, want = 0;   ///< there
  double max_abs_error = 0,
         max_rel_error = 0;  ///< of pairs that are both finite; relative: where want is not 0

  bool same() const { return mismatches == 0; }
};

/// Floats match when |got - want| <= atol + rtol |want|, both are NaN, or the same infinity; other types when
/// equal. `got` and `want` hold the same number of bytes.
Comparison compare(Dtype type, std::string_view got, std::string_view want, double rtol, double atol);

/// Indices of element `at` of an array of this shape.
std::vector<std::int64_t> index_of(std::size_t at, const std::vector<std::int64_t>& shape);

}  // namespace leap::verify::kernel
