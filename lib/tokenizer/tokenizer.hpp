/// Text <-> token ids, as the `tokenizers` package does it, for tokenizer.json files with byte-level BPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leap::tokenizer {

/// A half-open range of bytes.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Immutable and cheap to copy; every member may be called by many threads at once.
class Tokenizer {
 public:
  /// Reads `dir`/tokenizer.json. Throws Error that names the file and the field it does not support. The
  /// file's `truncation` and `padding` are not applied: no prompt is cut or padded here.
  static Tokenizer load(const std::filesystem::path& dir);

  /// The same from the file's text; `name` stands for the file in messages.
  static Tokenizer from_json(std::string_view text, const std::string& name = "tokenizer.json");

  /// The package's `encode(text, add_special_tokens=add_special).ids`. With `parse_special` false, added
  /// tokens that are special are ordinary text (`encode_special_tokens = True`). Bytes that are no UTF-8 are
  /// read as U+FFFD.
  std::vector<std::int64_t> encode(std::string_view text, bool add_special = true,
                                   bool parse_special = true) const;

  /// The ids of `text` without the post-processor's, where special tokens are parsed unless they touch one of
  /// the `content` spans (ascending, disjoint): there they are ordinary text.
  std::vector<std::int64_t> encode_with_content(std::string_view text,
                                                const std::vector<Span>& content) const;

  /// The package's `decode(ids, skip_special_tokens=False)`: always UTF-8. Unknown ids give nothing.
  std::string decode(const std::vector<std::int64_t>& ids) const;

  /// The bytes `id` stands for, perhaps only a part of a character; empty for unknown ids. Valid as long as
  /// this tokenizer or a copy of it lives. The bytes of a sequence are those of its ids, one after the other.
  std::string_view token_bytes(std::int64_t id) const;

  /// The id of a token by its content: an added token's text, or a vocabulary entry as the file spells it.
  std::optional<std::int64_t> token_id(std::string_view content) const;

  /// Is `id` an added token that is marked special?
  bool is_special(std::int64_t id) const;

  /// One more than the largest id.
  std::size_t size() const;

 private:
  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace leap::tokenizer
