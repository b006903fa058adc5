#include "tokenizer/unicode.hpp"

#include <utf8proc.h>

#include <cstdio>
#include <vector>

namespace leap::tokenizer {
namespace {

#include "tokenizer/unicode_ranges.inc"

constexpr Range kSpaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                             {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                             {0x205f, 0x205f}, {0x3000, 0x3000}};

using Classes = std::vector<std::uint8_t>;

template <std::size_t n>
void mark(Classes& classes, const Range (&ranges)[n], int bits) {
  for (const Range& range : ranges) {
    for (std::uint32_t c = range.first; c <= range.last; ++c) classes[c] |= static_cast<std::uint8_t>(bits);
  }
}

int bits_of(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter | kWordChar;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_PC:
      return kWordChar;
    case UTF8PROC_CATEGORY_ND:
      return kNumber | kNumeric | kWordChar;
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber | kNumeric;
    default:
      return 0;
  }
}

Classes make_classes() {
  Classes classes(0x110000);
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    classes[c] = static_cast<std::uint8_t>(bits_of(utf8proc_category(static_cast<utf8proc_int32_t>(c))));
  }
  mark(classes, kNewL, kLetter | kWordChar);
  mark(classes, kNewM, kWordChar);
  mark(classes, kNewN, kNumber | kNumeric);
  mark(classes, kNewNd, kWordChar);
  mark(classes, kSpaces, kSpace);
  mark(classes, kNumericMore, kNumeric);
  mark(classes, kPunctuation, kPunct);
  mark(classes, kAddedWordMore, kWordChar);
  return classes;
}

template <std::size_t n>
std::string spelled(const Range (&ranges)[n]) {
  std::string out;
  char item[32];
  for (const Range& range : ranges) {
    std::snprintf(item, sizeof item, "\\x{%x}-\\x{%x}", range.first, range.last);
    out += item;
  }
  return out;
}

}  // namespace

const std::uint8_t* char_classes() {
  static const Classes classes = make_classes();
  return classes.data();
}

void append_char(std::string& out, std::uint32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const auto n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}

std::string newer_members(std::string_view name) {
  if (name == "L") return spelled(kNewL);
  if (name == "Lu") return spelled(kNewLu);
  if (name == "Ll") return spelled(kNewLl);
  if (name == "Lm") return spelled(kNewLm);
  if (name == "Lo") return spelled(kNewLo);
  if (name == "M") return spelled(kNewM);
  if (name == "Mn") return spelled(kNewMn);
  if (name == "N") return spelled(kNewN);
  if (name == "Nd") return spelled(kNewNd);
  if (name == "P") return spelled(kNewP);
  if (name == "S") return spelled(kNewS);
  if (name == "Han") return spelled(kNewHan);
  return {};
}

std::string other_word_members() {
  return spelled(kWordMore);
}

}  // namespace leap::tokenizer
