#include "cudacpu/tokens.hpp"

#include <cctype>

namespace leap::cudacpu {
namespace {

bool is_word_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}
bool is_word(char c) {
  return is_word_start(c) || std::isdigit(static_cast<unsigned char>(c));
}

/// End of the line at `at`, over continued ones.
std::size_t end_of_line(std::string_view s, std::size_t at) {
  while (at < s.size() && s[at] != '\n') {
    if (s[at] == '\\' && at + 1 < s.size()) {
      const std::size_t skip = s[at + 1] == '\r' && at + 2 < s.size() ? 2 : 1;
      if (s[at + skip] == '\n') at += skip;
    }
    ++at;
  }
  return at < s.size() ? at : s.size();
}

/// End of the literal whose quote stands at `at`.
std::size_t end_of_quoted(std::string_view s, std::size_t at) {
  const char quote = s[at++];
  while (at < s.size() && s[at] != quote && s[at] != '\n') at += s[at] == '\\' ? 2 : 1;
  return at < s.size() ? (s[at] == quote ? at + 1 : at) : s.size();
}

std::size_t end_of_raw(std::string_view s, std::size_t quote) {
  const std::size_t open = s.find('(', quote);
  if (open == std::string_view::npos) return s.size();
  const std::string close = ")" + std::string(s.substr(quote + 1, open - quote - 1)) + "\"";
  const std::size_t end = s.find(close, open);
  return end == std::string_view::npos ? s.size() : end + close.size();
}

/// The word after # and spaces.
std::string_view directive_name(std::string_view s, std::size_t hash) {
  std::size_t at = hash + 1;
  while (at < s.size() && (s[at] == ' ' || s[at] == '\t')) ++at;
  std::size_t end = at;
  while (end < s.size() && is_word(s[end])) ++end;
  return s.substr(at, end - at);
}

}  // namespace

std::vector<Token> tokenize(std::string_view s) {
  std::vector<Token> out;
  int line = 1, directives = 0, directive = 0, alternative = 0;
  std::vector<bool> conditions;  // is this #if in another branch than its first?
  bool line_begins = true;
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t begin = at;
    TokenKind kind = TokenKind::kSymbol;
    const char c = s[at];
    const char after = at + 1 < s.size() ? s[at + 1] : '\0';
    if (c == '\n') {
      kind = TokenKind::kSpace;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      kind = TokenKind::kSpace;
      while (at < s.size() && s[at] != '\n' && std::isspace(static_cast<unsigned char>(s[at]))) ++at;
    } else if (c == '\\' && (after == '\n' || after == '\r')) {
      kind = TokenKind::kSpace;
      at = s.find('\n', at) == std::string_view::npos ? s.size() : s.find('\n', at) + 1;
    } else if (c == '/' && after == '/') {
      kind = TokenKind::kSpace;
      at = end_of_line(s, at);
    } else if (c == '/' && after == '*') {
      kind = TokenKind::kSpace;
      const std::size_t end = s.find("*/", at + 2);
      at = end == std::string_view::npos ? s.size() : end + 2;
    } else if (c == '#' && line_begins) {
      directive = ++directives;
      const std::string_view name = directive_name(s, at);
      if (name == "include" || name == "include_next" || name == "import") {
        kind = TokenKind::kInclude;
        at = end_of_line(s, at);
      } else if (name == "pragma") {
        kind = TokenKind::kPragma;
        at = end_of_line(s, at);
      } else if (name == "error" || name == "warning" || name == "line") {
        kind = TokenKind::kPragma;
        at = end_of_line(s, at);
      } else {
        ++at;
        if (name == "if" || name == "ifdef" || name == "ifndef") {
          conditions.push_back(false);
        } else if ((name == "else" || name == "elif") && !conditions.empty() && !conditions.back()) {
          conditions.back() = true;
          ++alternative;
        } else if (name == "endif" && !conditions.empty()) {
          alternative -= conditions.back();
          conditions.pop_back();
        }
      }
    } else if (is_word_start(c)) {
      kind = TokenKind::kWord;
      while (at < s.size() && is_word(s[at])) ++at;
      const std::string_view word = s.substr(begin, at - begin);
      if (at < s.size() && s[at] == '"' &&
          (word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R")) {
        kind = TokenKind::kString;
        at = end_of_raw(s, at);
      } else if (at < s.size() && (s[at] == '"' || s[at] == '\'') &&
                 (word == "L" || word == "u" || word == "U" || word == "u8")) {
        kind = TokenKind::kString;
        at = end_of_quoted(s, at);
      }
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' && std::isdigit(static_cast<unsigned char>(after)))) {
      kind = TokenKind::kNumber;
      while (at < s.size() &&
             (is_word(s[at]) || s[at] == '.' || (s[at] == '\'' && at + 1 < s.size() && is_word(s[at + 1])) ||
              ((s[at] == '+' || s[at] == '-') &&
               std::string_view("eEpP").find(s[at - 1]) != std::string_view::npos &&
               !(s[begin] == '0' && begin + 1 < s.size() && (s[begin + 1] | 32) == 'x' &&
                 (s[at - 1] | 32) == 'e'))))
        ++at;
    } else if (c == '"' || c == '\'') {
      kind = TokenKind::kString;
      at = end_of_quoted(s, at);
    } else {
      at += 1;
      for (const std::string_view symbol :
           {"<<<", ">>>", "::", "->", "<<", ">>", "==", "<=", ">=", "&&", "||"})
        if (s.substr(begin, symbol.size()) == symbol) {
          at = begin + symbol.size();
          break;
        }
    }
    Token token;
    token.kind = kind;
    token.text = s.substr(begin, at - begin);
    token.line = line;
    token.directive = directive;
    token.alternative = alternative;
    out.push_back(token);
    for (const char one : token.text)
      if (one == '\n') ++line;
    if (c == '\n') {
      line_begins = true;
      directive = 0;
    } else if (kind != TokenKind::kSpace) {
      line_begins = false;
    }
  }
  return out;
}

std::size_t Tokens::next(std::size_t i) const {
  for (++i; i < all_.size(); ++i)
    if (all_[i].kind != TokenKind::kSpace) return i;
  return kNone;
}

std::size_t Tokens::previous(std::size_t i) const {
  while (i-- > 0)
    if (all_[i].kind != TokenKind::kSpace) return i;
  return kNone;
}

std::size_t Tokens::match(std::size_t open) const {
  int depth = 0;
  for (std::size_t i = open; i < all_.size(); ++i) {
    const Token& token = all_[i];
    if (token.kind != TokenKind::kSymbol || token.directive != all_[open].directive ||
        token.alternative > all_[open].alternative)
      continue;
    if (token.text == "(" || token.text == "[" || token.text == "{") ++depth;
    if ((token.text == ")" || token.text == "]" || token.text == "}") && --depth == 0) return i;
  }
  return kNone;
}

std::size_t Tokens::match_back(std::size_t close) const {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    const Token& token = all_[i];
    if (token.kind != TokenKind::kSymbol || token.directive != all_[close].directive ||
        token.alternative > all_[close].alternative)
      continue;
    if (token.text == ")" || token.text == "]" || token.text == "}") ++depth;
    if ((token.text == "(" || token.text == "[" || token.text == "{") && --depth == 0) return i;
  }
  return kNone;
}

std::size_t Tokens::match_angle_back(std::size_t close) const {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    const Token& token = all_[i];
    if (token.kind != TokenKind::kSymbol) continue;
    if (token.text == ">" || token.text == ">>" || token.text == ">>>") {
      depth += static_cast<int>(token.text.size());
    } else if (token.text == ")" || token.text == "]" || token.text == "}") {
      i = match_back(i);
      if (i == kNone) return kNone;
    } else if (token.text == "<") {
      if (--depth == 0) return i;
    } else if (token.text == ";" || token.text == "{" || token.text == "(") {
      return kNone;
    }
  }
  return kNone;
}

std::string Tokens::text(std::size_t begin, std::size_t end) const {
  std::string out;
  for (std::size_t i = begin; i < end; ++i) {
    if (all_[i].kind == TokenKind::kSpace)
      out += ' ';
    else
      out += all_[i].before + std::string(all_[i].dropped ? "" : all_[i].text) + all_[i].after;
  }
  return out;
}

void Tokens::drop(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (all_[i].kind == TokenKind::kSpace) continue;
    all_[i].before.clear();
    all_[i].after.clear();
    all_[i].dropped = true;
  }
}

std::string Tokens::join() const {
  std::string out;
  for (const Token& token : all_) {
    out += token.before;
    if (!token.dropped)
      out += token.text;
    else
      for (const char c : token.text)
        if (c == '\n') out += c;
    out += token.after;
  }
  return out;
}

}  // namespace leap::cudacpu
