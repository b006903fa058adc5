#include "verify/kernel_sizes.hpp"

#include <cctype>
#include <string_view>

#include "base/error.hpp"

namespace leap::verify::kernel {
namespace {

constexpr int kMaxNesting = 50;
constexpr std::size_t kMaxText = 1000;

/// Evaluates while it parses: expressions are short.
class Parser {
 public:
  Parser(std::string_view text, const Sizes& sizes, const std::string& where)
      : text_(text), sizes_(sizes), where_(where) {}

  std::int64_t all() {
    const std::int64_t value = sum();
    if (peek() != '\0') fail("cannot be read");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw RecordError(where_ + ": `" + std::string(text_) + "` " + what);
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::int64_t negative(std::int64_t value) const {
    if (__builtin_sub_overflow(std::int64_t{0}, value, &value)) fail("is too large");
    return value;
  }

  std::int64_t sum() {
    std::int64_t value = product();
    for (char op = peek(); op == '+' || op == '-'; op = peek()) {
      ++at_;
      const std::int64_t right = product();
      const bool over = op == '+' ? __builtin_add_overflow(value, right, &value)
                                  : __builtin_sub_overflow(value, right, &value);
      if (over) fail("is too large");
    }
    return value;
  }

  std::int64_t product() {
    std::int64_t value = factor();
    for (char op = peek(); op == '*' || op == '/' || op == '%'; op = peek()) {
      ++at_;
      const std::int64_t right = factor();
      if (op == '*') {
        if (__builtin_mul_overflow(value, right, &value)) fail("is too large");
        continue;
      }
      if (right == 0) fail("divides by zero");
      if (right == -1)
        value = op == '/' ? negative(value) : 0;
      else
        value = op == '/' ? value / right : value % right;
    }
    return value;
  }

  std::int64_t factor() {
    if (++depth_ > kMaxNesting) fail("is nested too deeply");
    const std::int64_t value = plain_factor();
    --depth_;
    return value;
  }

  std::int64_t plain_factor() {
    const char c = peek();
    if (c == '(') {
      ++at_;
      const std::int64_t value = sum();
      if (peek() != ')') fail("lacks a `)`");
      ++at_;
      return value;
    }
    if (c == '-') {
      ++at_;
      return negative(factor());
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      std::int64_t value = 0;
      for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
        if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
            __builtin_add_overflow(value, std::int64_t{text_[at_] - '0'}, &value))
          fail("is too large");
      return value;
    }
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    if (name.empty()) fail("cannot be read");
    at_ = end;
    for (const auto& [known, value] : sizes_)
      if (known == name) return value;
    fail("uses `" + std::string(name) + "`, which is no size");
  }

  std::string_view text_;
  const Sizes& sizes_;
  const std::string& where_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Expression::Expression(const Json& value, const Sizes& known, const std::string& where) : where_(where) {
  if (value.is_number_integer())
    text_ = value.dump();
  else if (value.is_string() && value.get<std::string>().size() <= kMaxText)
    text_ = value.get<std::string>();
  else
    throw RecordError(where + ": must be an integer or an expression of sizes");
  // Known values: what one binding divides by may be zero only in another.
  this->value(known);
}

std::int64_t Expression::value(const Sizes& sizes) const {
  return Parser(text_, sizes, where_).all();
}

Sizes sizes_of(const Json& value, const std::string& where) {
  if (!value.is_object()) throw RecordError(where + ": must be an object of sizes");
  Sizes out;
  for (const auto& [name, number] : value.items()) {
    if (!number.is_number_integer() || number.get<std::int64_t>() < 0)
      throw RecordError(where + "." + name + ": must be an integer, 0 or more");
    out.emplace_back(name, number.get<std::int64_t>());
  }
  return out;
}

std::string words_of(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes)
    out += (out.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return out;
}

}  // namespace leap::verify::kernel
