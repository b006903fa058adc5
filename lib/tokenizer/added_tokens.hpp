/// The added tokens of a tokenizer.json: found in the text before anything else is done with it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace leap::tokenizer {

struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
  bool special = false, normalized = false;
  bool lstrip = false, rstrip = false, single_word = false;
};

/// Finds tokens in a text: the leftmost, of those the longest.
class TokenFinder {
 public:
  /// `text` is what is looked for (the token's content, normalized or not). Of equal texts the first added
  /// counts.
  void add(std::string_view text, const AddedToken& token);

  bool empty() const { return tokens_.empty(); }

  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    const AddedToken* token = nullptr;  ///< null: ordinary text
  };
  /// Is the special token found at these bytes to be text?
  using IsText = std::function<bool(std::size_t begin, std::size_t end)>;

  /// The parts of `text` in order. A special token that `is_text` accepts is ordinary text; what it covers is
  /// not searched again when `skip_whole`, as the package does, else from its second byte on.
  void parts(std::string_view text, const IsText& is_text, bool skip_whole, std::vector<Part>& out) const;

 private:
  struct Node {
    std::vector<std::pair<unsigned char, std::uint32_t>> children;
    std::int32_t token = -1;
  };
  /// The longest token at the start of `text`, or -1, and its length.
  std::int32_t longest(std::string_view text, std::size_t& length) const;

  std::vector<Node> nodes_{1};
  std::array<bool, 256> starts_{};
  std::vector<AddedToken> tokens_;
};

}  // namespace leap::tokenizer
