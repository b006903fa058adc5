/// Sizes of a kernel's trial, and expressions of them in shapes and bounds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jsonl/json.hpp"

namespace leap::verify::kernel {

/// Names and their values, e.g. n = 1000.
using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

/// An integer, or text with names, integers, + - * / % (of integers, as in C) and parentheses.
class Expression {
 public:
  /// `where` names the field in errors. RecordError for what is no expression or uses a name not in `known`.
  Expression(const Json& value, const Sizes& known, const std::string& where);

  /// RecordError on overflow and division by zero.
  std::int64_t value(const Sizes& sizes) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_, where_;
};

/// {"n": 1000, ..} of the field `where`; every value an integer, 0 or more.
Sizes sizes_of(const Json& value, const std::string& where);

/// "n = 1000, m = 3", for people.
std::string words_of(const Sizes& sizes);

}  // namespace leap::verify::kernel
