/// Small text helpers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leap {

/// Is `bytes` valid UTF-8 (no overlong forms, no surrogates)?
bool is_utf8(std::string_view bytes);

/// `bytes` as valid UTF-8: each maximal ill-formed part becomes one U+FFFD, as Python's errors="replace"
/// does.
std::string to_utf8(std::string_view bytes);

/// At most `limit` bytes of valid UTF-8 `text`, cut between characters; when cut, `mark` is appended.
std::string shorten(std::string_view text, std::size_t limit, std::string_view mark = "...");

/// Two hexadecimal digits a byte.
std::string hex(std::string_view bytes);

std::string_view strip(std::string_view text);

}  // namespace leap
