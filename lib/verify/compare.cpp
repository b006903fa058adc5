#include "verify/compare.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/text.hpp"

namespace leap::verify {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view next_token(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::size_t end = 0;
  while (end < text.size() && !is_space(text[end])) ++end;
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(end);
  return token;
}

/// A decimal number as sign, significant digits and exponent: value = 0.d1d2d3.. * 10^exponent.
struct Decimal {
  bool negative = false;
  std::string digits;  ///< without zeros at either end; empty is zero
  long long exponent = 0;
};

bool read_decimal(std::string_view text, Decimal& out) {
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) out.negative = text[i++] == '-';
  bool any = false, point = false, countless = false;
  long long exponent = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (!point) ++exponent;
    out.digits += text[i];
  }
  if (!any) return false;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return false;
    std::size_t k = i + 1;
    bool minus = false;
    if (k < text.size() && (text[k] == '+' || text[k] == '-')) minus = text[k++] == '-';
    if (k == text.size()) return false;
    long long e = 0;
    for (; k < text.size(); ++k) {
      if (!is_digit(text[k])) return false;
      if (e < 100000000000000000)
        e = e * 10 + (text[k] - '0');
      else
        countless = true;
    }
    exponent += minus ? -e : e;
  }
  const std::size_t first = out.digits.find_first_not_of('0');
  if (first == std::string::npos) {
    out = {};
    return true;
  }
  if (countless) return false;  // only the same text is the same number
  out.digits.erase(0, first);
  out.exponent = exponent - static_cast<long long>(first);
  out.digits.erase(out.digits.find_last_not_of('0') + 1);
  return true;
}

bool same_infinity(std::string_view got, std::string_view want) {
  auto read = [](std::string_view text) {
    int sign = 1;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      sign = text[0] == '-' ? -1 : 1;
      text.remove_prefix(1);
    }
    std::string lower;
    for (const char c : text) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return lower == "inf" || lower == "infinity" ? sign : 0;
  };
  const int a = read(got);
  return a != 0 && a == read(want);
}

bool same_token(std::string_view got, std::string_view want, double tolerance) {
  if (got == want) return true;
  Decimal a, b;
  if (!read_decimal(got, a) || !read_decimal(want, b)) return same_infinity(got, want);
  if (a.negative == b.negative && a.digits == b.digits && a.exponent == b.exponent) return true;
  if (!(tolerance > 0)) return false;
  const long double x = std::strtold(std::string(got).c_str(), nullptr);
  const long double y = std::strtold(std::string(want).c_str(), nullptr);
  if (!std::isfinite(x) || !std::isfinite(y)) return false;
  // A hair of slack: 0.1 + tolerance is seldom exact.
  return std::fabs(x - y) <=
         static_cast<long double>(tolerance) * std::max(1.0L, std::fabs(y)) * (1 + 1e-12L);
}

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

bool same_output(std::string_view got, std::string_view want, Compare how, double tolerance) {
  if (how == Compare::kExact) return got == want;
  if (!is_utf8(got) && is_utf8(want)) return false;
  if (how == Compare::kLines) {
    got = trim_end(got);
    want = trim_end(want);
    while (true) {
      const std::size_t a = got.find('\n'), b = want.find('\n');
      if (trim_end(got.substr(0, a)) != trim_end(want.substr(0, b))) return false;
      if ((a == std::string_view::npos) != (b == std::string_view::npos)) return false;
      if (a == std::string_view::npos) return true;
      got.remove_prefix(a + 1);
      want.remove_prefix(b + 1);
    }
  }
  while (true) {
    const std::string_view a = next_token(got), b = next_token(want);
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    if (!same_token(a, b, tolerance)) return false;
  }
}

}  // namespace leap::verify
