/// Follows a completion token by token: its text so far, and whether a stop text has appeared in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace leap::tokenizer {

class TextStream {
 public:
  /// Throws UsageError when a stop text is empty.
  TextStream(Tokenizer tokenizer, std::vector<std::string> stops);

  /// Adds a drawn id. True when a stop text is now complete, also across the borders of tokens; of several,
  /// the one that begins first counts. Ids that are to give no text (end ids) are not pushed.
  bool push(std::int64_t id);

  bool stopped() const { return stopped_; }

  /// The text before the stop text, or all of it: always UTF-8, and the same as Tokenizer::decode gives.
  std::string text() const;

  /// The raw bytes behind text().
  const std::string& bytes() const { return bytes_; }

 private:
  Tokenizer tokenizer_;
  std::vector<std::string> stops_;
  std::size_t longest_ = 0;
  std::string bytes_;
  bool stopped_ = false;
};

}  // namespace leap::tokenizer
