#include "tokenizer/stop.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace leap::tokenizer {

TextStream::TextStream(Tokenizer tokenizer, std::vector<std::string> stops)
    : tokenizer_(std::move(tokenizer)), stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) throw UsageError("a stop text must not be empty");
    longest_ = std::max(longest_, stop.size());
  }
}

bool TextStream::push(std::int64_t id) {
  if (stopped_) return true;
  const std::size_t before = bytes_.size();
  bytes_ += tokenizer_.token_bytes(id);
  // A stop text that is complete only now ends in the new bytes.
  const std::size_t from = before - std::min(before, longest_ == 0 ? 0 : longest_ - 1);
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, bytes_.find(stop, from));
  if (first == std::string::npos) return false;
  bytes_.resize(first);
  return stopped_ = true;
}

std::string TextStream::text() const {
  return to_utf8(bytes_);
}

}  // namespace leap::tokenizer
