#include "verify/kernel_compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace leap::verify::kernel {

Comparison compare(Dtype type, std::string_view got, std::string_view want, double rtol, double atol) {
  Comparison out;
  const std::size_t width = size_of(type);
  out.count = want.size() / width;
  if (got == want && !is_float(type)) return out;
  for (std::size_t i = 0; i < out.count; ++i) {
    const char* a = got.data() + i * width;
    const char* b = want.data() + i * width;
    const double x = number_at(type, a), y = number_at(type, b);
    bool match = false, lost = false;
    if (std::isfinite(x) && std::isfinite(y)) {
      const double error = std::fabs(x - y);
      match = is_float(type) ? error <= atol + rtol * std::fabs(y) : std::memcmp(a, b, width) == 0;
      out.max_abs_error = std::max(out.max_abs_error, error);
      if (y != 0) out.max_rel_error = std::max(out.max_rel_error, error / std::fabs(y));
    } else {
      match = x == y || (std::isnan(x) && std::isnan(y));
      lost = !match && std::isfinite(y);
    }
    if (match) continue;
    if (out.mismatches++ == 0) {
      out.first = i;
      out.got = x;
      out.want = y;
    }
    out.nonfinite += lost;
  }
  return out;
}

std::vector<std::int64_t> index_of(std::size_t at, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> out(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto extent = static_cast<std::size_t>(std::max<std::int64_t>(1, shape[i]));
    out[i] = static_cast<std::int64_t>(at % extent);
    at /= extent;
  }
  return out;
}

}  // namespace leap::verify::kernel
