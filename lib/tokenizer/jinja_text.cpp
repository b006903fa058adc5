#include "tokenizer/jinja_text.hpp"

#include <utf8proc.h>

#include <algorithm>

#include "tokenizer/unicode.hpp"

namespace leap::tokenizer::jinja {
namespace {

/// str.isspace of one character.
bool is_space(const char* p) {
  std::size_t length = 0;
  const std::uint32_t c = decode_char(p, length);
  return (char_classes()[c] & kSpace) != 0 || (c >= 0x1c && c <= 0x1f);
}

}  // namespace

std::vector<std::size_t> char_starts(std::string_view text) {
  std::vector<std::size_t> out;
  out.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) out.push_back(i);
  }
  out.push_back(text.size());
  return out;
}

Text stripped(const Text& text, const std::string* chars, bool left, bool right) {
  const char* const start = text.bytes.data();
  const char* begin = start;
  const char* end = begin + text.bytes.size();
  std::vector<std::uint32_t> set;
  std::size_t length = 0;
  if (chars != nullptr) {
    for (std::size_t i = 0; i < chars->size(); i += length)
      set.push_back(decode_char(chars->data() + i, length));
  }
  const auto goes = [&](const char* p) {
    if (chars == nullptr) return is_space(p);
    std::size_t n = 0;
    return std::find(set.begin(), set.end(), decode_char(p, n)) != set.end();
  };
  while (left && begin != end && goes(begin)) {
    decode_char(begin, length);
    begin += length;
  }
  while (right && begin != end && goes(char_before(end))) end = char_before(end);
  return part(text, static_cast<std::size_t>(begin - start), static_cast<std::size_t>(end - start));
}

std::vector<Text> split(const Text& text, std::string_view separator, std::int64_t most, bool from_right) {
  std::vector<std::size_t> found;
  const std::string& bytes = text.bytes;
  const auto enough = [&] { return most >= 0 && found.size() >= static_cast<std::size_t>(most); };
  if (!from_right || most < 0) {
    for (std::size_t at = 0; !enough() && (at = bytes.find(separator, at)) != std::string::npos;
         at += separator.size()) {
      found.push_back(at);
    }
  } else {
    for (std::size_t end = bytes.size(); !enough() && end >= separator.size();) {
      const std::size_t at = bytes.rfind(separator, end - separator.size());
      if (at == std::string::npos) break;
      found.push_back(at);
      end = at;
    }
    std::reverse(found.begin(), found.end());
  }
  std::vector<Text> out;
  std::size_t begin = 0;
  for (const std::size_t at : found) {
    out.push_back(part(text, begin, at));
    begin = at + separator.size();
  }
  out.push_back(part(text, begin, bytes.size()));
  return out;
}

std::vector<Text> split_space(const Text& text, std::int64_t most) {
  std::vector<Text> out;
  const std::vector<std::size_t> starts = char_starts(text.bytes);
  const std::size_t n = starts.size() - 1;
  const auto space = [&](std::size_t i) { return is_space(text.bytes.data() + starts[i]); };
  for (std::size_t i = 0; i < n;) {
    if (space(i)) {
      ++i;
      continue;
    }
    if (most >= 0 && out.size() == static_cast<std::size_t>(most)) {
      out.push_back(stripped(part(text, starts[i], starts[n]), nullptr, false, true));
      break;
    }
    std::size_t end = i;
    while (end < n && !space(end)) ++end;
    out.push_back(part(text, starts[i], starts[end]));
    i = end;
  }
  return out;
}

bool change_case(Text& text, const std::string& how) {
  bool in_word = false;
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.bytes.size(); i += length) {
    const std::uint32_t c = decode_char(text.bytes.data() + i, length);
    char& byte = text.bytes[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c >= 0x80) {
      const auto point = static_cast<utf8proc_int32_t>(c);
      if (c == 0xdf || utf8proc_toupper(point) != point || utf8proc_tolower(point) != point) return false;
      const auto category = utf8proc_category(point);
      if (category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
          category == UTF8PROC_CATEGORY_LT) {
        return false;
      }
    }
    if (letter) {
      const bool up = how == "upper" || (how == "title" && !in_word) || (how == "capitalize" && i == 0);
      byte = static_cast<char>(up ? byte & ~0x20 : byte | 0x20);
    }
    in_word = letter;
  }
  return true;
}

}  // namespace leap::tokenizer::jinja
