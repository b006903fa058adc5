/// Python's string operations on texts, which keep track of content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/jinja.hpp"

namespace leap::tokenizer::jinja {

/// Where the characters of valid UTF-8 begin, and its end: one more entry than characters.
std::vector<std::size_t> char_starts(std::string_view text);

/// str.strip: white space, or the characters of `chars`.
Text stripped(const Text& text, const std::string* chars, bool left, bool right);

/// str.split(separator, most) and str.rsplit; `most` negative: no limit. `separator` is not empty.
std::vector<Text> split(const Text& text, std::string_view separator, std::int64_t most, bool from_right);

/// str.split(None, most).
std::vector<Text> split_space(const Text& text, std::int64_t most);

/// upper, lower, title or capitalize; false when the text has characters beyond ASCII that have case.
bool change_case(Text& text, const std::string& how);

}  // namespace leap::tokenizer::jinja
