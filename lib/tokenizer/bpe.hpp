/// The BPE model of a tokenizer.json on raw bytes: a piece of text -> token ids.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace leap::tokenizer {

/// The character that stands for each byte in a byte-level vocabulary (GPT-2's bytes_to_unicode), as UTF-8.
const std::string& byte_char(unsigned char byte);

/// The bytes that `token` spells in the byte alphabet; false when it has other characters.
bool bytes_of(std::string_view token, std::string& bytes);

/// Bytes -> id, open addressing.
class ByteTable {
 public:
  void reserve(std::size_t entries);
  void insert(std::string bytes, std::uint32_t id);
  /// The index of the entry of `bytes`, or -1.
  std::int64_t find(std::string_view bytes) const;
  std::uint32_t id(std::int64_t index) const { return ids_[static_cast<std::size_t>(index)]; }
  std::size_t size() const { return ids_.size(); }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t entry = 0;  ///< index + 1; 0 is free
  };
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> offsets_{0};  ///< of entry i in bytes_, and its end
  std::string bytes_;
  std::vector<std::uint32_t> ids_;
};

/// Pair of ids -> rank and merged id, open addressing.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;
    std::uint32_t id;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  void reserve(std::size_t entries);
  /// A pair given twice takes the later rank.
  void insert(std::uint32_t left, std::uint32_t right, Merge merge);
  /// rank kNone when the two do not merge.
  Merge find(std::uint32_t left, std::uint32_t right) const;

 private:
  struct Slot {
    std::uint64_t pair = ~std::uint64_t{0};
    Merge merge{kNone, 0};
  };
  std::vector<Slot> slots_;
  int shift_ = 0;
};

class Bpe {
 public:
  /// `model` of a tokenizer.json. Throws Error that names the field (`where` + ...) it does not support.
  Bpe(const nlohmann::json& model, const std::string& where);

  /// Appends the ids of a piece. Bytes without a token give the unknown token, or nothing when there is none.
  void encode(std::string_view piece, std::vector<std::int64_t>& ids) const;

  /// All tokens as the file spells them.
  const std::unordered_map<std::string, std::uint32_t>& vocab() const { return vocab_; }

 private:
  void merge(std::string_view piece, std::vector<std::uint32_t>& out) const;
  void merge_short(std::vector<std::uint32_t>& symbols) const;
  void merge_long(std::vector<std::uint32_t>& symbols) const;

  std::unordered_map<std::string, std::uint32_t> vocab_;
  ByteTable tokens_;
  MergeTable merges_;
  std::uint32_t byte_ids_[256];
  std::uint32_t unknown_ = MergeTable::kNone;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
  /// Does merging a token's bytes give that token alone? Found out at its first use: most pieces then need
  /// one look-up.
  enum Whole : std::uint8_t { kUntried, kYes, kNo };
  std::unique_ptr<std::atomic<std::uint8_t>[]> whole_;
};

}  // namespace leap::tokenizer
