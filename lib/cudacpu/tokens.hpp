/// The tokens of a CUDA source, with room for edits that keep its lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace leap::cudacpu {

enum class TokenKind { kSpace, kWord, kNumber, kString, kSymbol, kInclude, kPragma };

struct Token {
  TokenKind kind = TokenKind::kSpace;
  std::string_view text;
  int line = 1;
  int directive = 0;    ///< number of the preprocessor directive that it stands in, 0: none
  int alternative = 0;  ///< #else branches that it stands in
  std::string before, after;
  bool dropped = false;  ///< only its line ends are left

  bool is(std::string_view what) const { return text == what && kind != TokenKind::kString; }
};

/// Comments are spaces. An include or a pragma is one token; <<< and >>> are symbols, as are :: -> >> and <<.
std::vector<Token> tokenize(std::string_view source);

/// A source under translation.
class Tokens {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  explicit Tokens(std::string_view source) : all_(tokenize(source)) {}
  std::size_t size() const { return all_.size(); }
  Token& operator[](std::size_t i) { return all_[i]; }
  const Token& operator[](std::size_t i) const { return all_[i]; }

  std::size_t next(std::size_t i) const;      ///< the next that is no space; kNone at the end
  std::size_t previous(std::size_t i) const;  ///< kNone at the beginning
  bool is(std::size_t i, std::string_view what) const { return i != kNone && all_[i].is(what); }
  /// The partner of an opening ( [ {, or of a closing one for match_back. Directives inside are stepped over.
  std::size_t match(std::size_t open) const;
  std::size_t match_back(std::size_t close) const;
  /// The < of a template argument list that ends in this > or >>.
  std::size_t match_angle_back(std::size_t close) const;
  /// Text of [begin, end) on one line, without comments.
  std::string text(std::size_t begin, std::size_t end) const;
  void drop(std::size_t begin, std::size_t end);
  std::string join() const;

 private:
  std::vector<Token> all_;
};

}  // namespace leap::cudacpu
