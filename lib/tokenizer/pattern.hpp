/// Where a pre-tokenizer's or normalizer's pattern matches: Oniguruma's syntax and classes on PCRE2, and
/// hand-written scanners for the patterns of GPT-2, Qwen2 and Llama-3.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leap::tokenizer {

/// A piece of a subject: what a pattern matched, or what lies between two matches.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool matched = false;
};

/// Scans one piece of the text that runs from `begin` to `end`, and returns its end. Every piece is a match.
using Scanner = const char* (*)(const char* begin, const char* end);

class Pattern {
 public:
  /// Throws Error that quotes the pattern when it is wrong or uses what Oniguruma and PCRE2 read differently.
  static Pattern regex(const std::string& pattern);
  /// Matches `text` itself; when it is empty, between all characters.
  static Pattern literal(const std::string& text);
  /// The regular expression alone, never a scanner (to test scanners).
  static Pattern plain_regex(const std::string& pattern);

  /// The scanner of this pattern, or null.
  Scanner scanner() const { return scanner_; }

  /// The pieces of `text` (valid UTF-8) in order; all of it, and empty matches too. An empty text has none.
  void pieces(std::string_view text, std::vector<Piece>& out) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
  Scanner scanner_ = nullptr;
};

/// ByteLevel's pattern, Qwen2's and Llama-3's.
inline constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

inline constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const char* scan_gpt2(const char* begin, const char* end);
const char* scan_qwen2(const char* begin, const char* end);
const char* scan_llama3(const char* begin, const char* end);

}  // namespace leap::tokenizer
