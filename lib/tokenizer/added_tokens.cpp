#include "tokenizer/added_tokens.hpp"

#include <algorithm>

#include "tokenizer/unicode.hpp"

namespace leap::tokenizer {
namespace {

bool has_class(const char* p, int bits) {
  std::size_t length = 0;
  return (char_classes()[decode_char(p, length)] & bits) != 0;
}

}  // namespace

void TokenFinder::add(std::string_view text, const AddedToken& token) {
  if (text.empty()) return;
  std::uint32_t at = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    auto& children = nodes_[at].children;
    const auto it = std::find_if(children.begin(), children.end(),
                                 [&](const auto& child) { return child.first == byte; });
    if (it != children.end()) {
      at = it->second;
    } else {
      const auto next = static_cast<std::uint32_t>(nodes_.size());
      children.emplace_back(byte, next);
      nodes_.emplace_back();
      at = next;
    }
  }
  if (nodes_[at].token >= 0) return;
  nodes_[at].token = static_cast<std::int32_t>(tokens_.size());
  starts_[static_cast<unsigned char>(text[0])] = true;
  tokens_.push_back(token);
}

std::int32_t TokenFinder::longest(std::string_view text, std::size_t& length) const {
  std::int32_t found = -1;
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto& children = nodes_[at].children;
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto it = std::find_if(children.begin(), children.end(),
                                 [&](const auto& child) { return child.first == byte; });
    if (it == children.end()) break;
    at = it->second;
    if (nodes_[at].token >= 0) {
      found = nodes_[at].token;
      length = i + 1;
    }
  }
  return found;
}

void TokenFinder::parts(std::string_view text, const IsText& is_text, bool skip_whole,
                        std::vector<Part>& out) const {
  out.clear();
  std::size_t last = 0;
  for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
    std::size_t length = 0;
    std::int32_t found = -1;
    if (starts_[static_cast<unsigned char>(text[at])]) found = longest(text.substr(at), length);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
    std::size_t begin = at, end = at + length;
    at = end;
    if (token.special && is_text && is_text(begin, end)) {
      if (!skip_whole) at = begin + 1;
      continue;
    }
    if (token.single_word) {
      const bool left = begin == 0 || !has_class(char_before(text.data() + begin), kWordChar);
      const bool right = end == text.size() || !has_class(text.data() + end, kWordChar);
      if (!left || !right) continue;
    }
    if (token.lstrip) {
      while (begin > last && has_class(char_before(text.data() + begin), kSpace)) {
        begin = static_cast<std::size_t>(char_before(text.data() + begin) - text.data());
      }
      begin = std::max(begin, last);
    }
    if (token.rstrip) {
      std::size_t space = 0;
      while (end < text.size() && (char_classes()[decode_char(text.data() + end, space)] & kSpace) != 0)
        end += space;
    }
    if (begin > last) out.push_back({last, begin, nullptr});
    out.push_back({begin, end, &token});
    last = end;
  }
  if (last < text.size()) out.push_back({last, text.size(), nullptr});
}

}  // namespace leap::tokenizer
