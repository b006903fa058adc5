/// UTF-8 and the classes of code points, as the tokenizers package has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace leap::tokenizer {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

enum CharClass : std::uint8_t {
  kLetter = 1,     ///< \p{L}
  kNumber = 2,     ///< \p{N}
  kSpace = 4,      ///< \s, White_Space
  kNumeric = 8,    ///< what Digits takes for a digit
  kPunct = 16,     ///< what Punctuation takes for punctuation
  kWordChar = 32,  ///< \w to the tests beside added tokens and to Whitespace
};

/// The classes of all code points, a bit set each: 0x110000 bytes, made at the first call.
const std::uint8_t* char_classes();

/// The code point at `p` of valid UTF-8, and `length` its bytes.
inline std::uint32_t decode_char(const char* p, std::size_t& length) {
  const auto* u = reinterpret_cast<const unsigned char*>(p);
  if (u[0] < 0x80) {
    length = 1;
    return u[0];
  }
  if (u[0] < 0xe0) {
    length = 2;
    return (u[0] & 0x1fU) << 6 | (u[1] & 0x3fU);
  }
  if (u[0] < 0xf0) {
    length = 3;
    return (u[0] & 0x0fU) << 12 | (u[1] & 0x3fU) << 6 | (u[2] & 0x3fU);
  }
  length = 4;
  return (u[0] & 0x07U) << 18 | (u[1] & 0x3fU) << 12 | (u[2] & 0x3fU) << 6 | (u[3] & 0x3fU);
}

/// The start of the character that ends before `p` of valid UTF-8.
inline const char* char_before(const char* p) {
  do {
    --p;
  } while ((static_cast<unsigned char>(*p) & 0xc0) == 0x80);
  return p;
}

void append_char(std::string& out, std::uint32_t code_point);

/// Ranges, for a character class of a regular expression, that belong to the Unicode property `name`
/// (\p{name}) since Unicode 14; empty when there are none.
std::string newer_members(std::string_view name);

/// What \w has beyond \p{L}, \p{M}, \p{N} and \p{Pc}, as ranges.
std::string other_word_members();

}  // namespace leap::tokenizer
