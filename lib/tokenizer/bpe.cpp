#include "tokenizer/bpe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <queue>
#include <utility>

#include "base/error.hpp"
#include "tokenizer/unicode.hpp"

namespace leap::tokenizer {
namespace {

struct Alphabet {
  std::array<std::string, 256> chars;
  std::array<std::int16_t, 0x144> bytes;  ///< by code point; -1 for none

  Alphabet() {
    bytes.fill(-1);
    std::uint32_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const bool itself = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      const std::uint32_t c = itself ? b : next++;
      append_char(chars[b], c);
      bytes[c] = static_cast<std::int16_t>(b);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet it;
  return it;
}

constexpr std::uint64_t kMul = 0x9e3779b97f4a7c15ULL;

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t h = bytes.size() * kMul;
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint64_t word = 0;
  for (; n >= 8; p += 8, n -= 8) {
    std::memcpy(&word, p, 8);
    h = (h ^ word) * kMul;
    h ^= h >> 29;
  }
  if (n > 0) {
    word = 0;
    std::memcpy(&word, p, n);
    h = (h ^ word) * kMul;
    h ^= h >> 29;
  }
  return h * kMul;
}

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
  return std::uint64_t{left} << 32 | right;
}

std::size_t capacity_for(std::size_t entries) {
  return std::bit_ceil(std::max<std::size_t>(16, entries * 2));
}

}  // namespace

const std::string& byte_char(unsigned char byte) {
  return alphabet().chars[byte];
}

bool bytes_of(std::string_view token, std::string& bytes) {
  bytes.clear();
  std::size_t length = 0;
  for (std::size_t i = 0; i < token.size(); i += length) {
    const std::uint32_t c = decode_char(token.data() + i, length);
    if (c >= alphabet().bytes.size() || alphabet().bytes[c] < 0) return false;
    bytes += static_cast<char>(alphabet().bytes[c]);
  }
  return true;
}

void ByteTable::reserve(std::size_t entries) {
  slots_.assign(capacity_for(entries), {});
}

void ByteTable::insert(std::string bytes, std::uint32_t id) {
  bytes_ += bytes;
  offsets_.push_back(bytes_.size());
  ids_.push_back(id);
  const std::uint64_t h = hash_of(bytes);
  std::size_t at = (h >> 32) & (slots_.size() - 1);
  while (slots_[at].entry != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(ids_.size())};
}

std::int64_t ByteTable::find(std::string_view bytes) const {
  const std::uint64_t h = hash_of(bytes);
  std::size_t at = (h >> 32) & (slots_.size() - 1);
  for (; slots_[at].entry != 0; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].tag != static_cast<std::uint32_t>(h)) continue;
    const std::size_t entry = slots_[at].entry - 1;
    const std::uint64_t begin = offsets_[entry];
    if (offsets_[entry + 1] - begin == bytes.size() &&
        std::memcmp(bytes_.data() + begin, bytes.data(), bytes.size()) == 0) {
      return static_cast<std::int64_t>(entry);
    }
  }
  return -1;
}

void MergeTable::reserve(std::size_t entries) {
  slots_.assign(capacity_for(entries), {});
  shift_ = 64 - std::countr_zero(slots_.size());
}

void MergeTable::insert(std::uint32_t left, std::uint32_t right, Merge merge) {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = (pair * kMul) >> shift_;
  while (slots_[at].merge.rank != kNone && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {pair, merge};
}

MergeTable::Merge MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = (pair * kMul) >> shift_;
  while (slots_[at].merge.rank != kNone && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
  return slots_[at].merge;
}

Bpe::Bpe(const nlohmann::json& model, const std::string& where) {
  const auto refuse = [&](const std::string& field, const std::string& why) {
    throw Error(where + field + ": " + why);
  };
  const auto flag = [&](const char* field) {
    const auto it = model.find(field);
    return it != model.end() && it->is_boolean() && it->get<bool>();
  };
  if (!model.is_object()) refuse("", "missing");
  if (model.contains("type") && model["type"] != "BPE") {
    refuse(".type", model["type"].dump() + " is not supported; only byte-level BPE is");
  }
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto it = model.find(field);
    if (it != model.end() && !it->is_null() && *it != "") {
      refuse(std::string(".") + field, it->dump() + " is not supported");
    }
  }
  if (const auto it = model.find("dropout"); it != model.end() && it->is_number() && it->get<double>() != 0) {
    refuse(".dropout", "not supported: encoding must not be random");
  }
  if (!model.contains("vocab") || !model["vocab"].is_object()) refuse(".vocab", "must be an object of ids");
  if (!model.contains("merges") || !model["merges"].is_array()) refuse(".merges", "must be an array");

  std::fill(std::begin(byte_ids_), std::end(byte_ids_), MergeTable::kNone);
  const auto& vocab = model["vocab"];
  vocab_.reserve(vocab.size());
  tokens_.reserve(vocab.size());
  std::string bytes;
  for (const auto& [token, value] : vocab.items()) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= MergeTable::kNone) {
      refuse(".vocab", "the id of " + nlohmann::json(token).dump() + " is no unsigned 32-bit number");
    }
    const auto id = value.get<std::uint32_t>();
    vocab_.emplace(token, id);
    if (token.empty() || !bytes_of(token, bytes)) continue;
    tokens_.insert(bytes, id);
    if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = id;
  }
  whole_ = std::make_unique<std::atomic<std::uint8_t>[]>(tokens_.size());

  const auto& merges = model["merges"];
  merges_.reserve(merges.size());
  std::uint32_t rank = 0;
  for (const auto& merge : merges) {
    const std::string at = ".merges[" + std::to_string(rank) + "]";
    std::string left, right;
    if (merge.is_string()) {
      const auto& text = merge.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
        refuse(at, "must be two tokens with a space between");
      }
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else {
      refuse(at, "must be two tokens");
    }
    const auto id_of = [&](const std::string& token) {
      const auto it = vocab_.find(token);
      if (it == vocab_.end())
        refuse(at, "token " + nlohmann::json(token).dump() + " is not in the vocabulary");
      return it->second;
    };
    merges_.insert(id_of(left), id_of(right), {rank, id_of(left + right)});
    ++rank;
  }

  ignore_merges_ = flag("ignore_merges");
  fuse_unknown_ = flag("fuse_unk");
  const bool complete =
      std::find(std::begin(byte_ids_), std::end(byte_ids_), MergeTable::kNone) == std::end(byte_ids_);
  if (const auto it = model.find("unk_token"); it != model.end() && it->is_string() && !complete) {
    const auto unknown = vocab_.find(it->get<std::string>());
    if (unknown == vocab_.end()) refuse(".unk_token", "not in the vocabulary");
    unknown_ = unknown->second;
  }
  if (flag("byte_fallback") && !complete) refuse(".byte_fallback", "not supported; only byte-level BPE is");
}

void Bpe::encode(std::string_view piece, std::vector<std::int64_t>& ids) const {
  const std::int64_t entry = tokens_.find(piece);
  std::atomic<std::uint8_t>* whole = nullptr;
  if (entry >= 0) {
    whole = &whole_[static_cast<std::size_t>(entry)];
    if (ignore_merges_ || whole->load(std::memory_order_relaxed) == kYes) {
      ids.push_back(tokens_.id(entry));
      return;
    }
  }
  thread_local std::vector<std::uint32_t> symbols;
  merge(piece, symbols);
  if (whole != nullptr) {
    whole->store(symbols.size() == 1 && symbols[0] == tokens_.id(entry) ? kYes : kNo,
                 std::memory_order_relaxed);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void Bpe::merge(std::string_view piece, std::vector<std::uint32_t>& out) const {
  out.clear();
  bool after_unknown = false;
  for (const char c : piece) {
    const std::uint32_t id = byte_ids_[static_cast<unsigned char>(c)];
    if (id != MergeTable::kNone) {
      out.push_back(id);
      after_unknown = false;
    } else if (unknown_ != MergeTable::kNone) {
      if (!after_unknown || !fuse_unknown_) out.push_back(unknown_);
      after_unknown = true;
    }
  }
  if (out.size() < 2) return;
  constexpr std::size_t kShort = 48;
  if (out.size() <= kShort) {
    merge_short(out);
  } else {
    merge_long(out);
  }
}

/// Quadratic, but without a heap. The lowest rank goes first, the leftmost of equal ones.
void Bpe::merge_short(std::vector<std::uint32_t>& symbols) const {
  MergeTable::Merge merges[48];  // merges[i] is that of symbols i and i + 1
  std::size_t n = symbols.size();
  for (std::size_t i = 0; i + 1 < n; ++i) merges[i] = merges_.find(symbols[i], symbols[i + 1]);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == MergeTable::kNone) break;
    symbols[best] = merges[best].id;
    --n;
    for (std::size_t i = best + 1; i < n; ++i) {
      symbols[i] = symbols[i + 1];
      merges[i - 1] = merges[i];
    }
    if (best > 0) merges[best - 1] = merges_.find(symbols[best - 1], symbols[best]);
    if (best + 1 < n) merges[best] = merges_.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(n);
}

/// A heap of candidate merges over a linked list; candidates whose pair is gone are skipped when they come
/// up.
void Bpe::merge_long(std::vector<std::uint32_t>& symbols) const {
  constexpr std::uint32_t kEnd = 0xffffffff;
  const std::size_t n = symbols.size();
  if (n >= kEnd) throw RecordError("a piece of text of 4 GB or more cannot be tokenized");
  std::vector<std::uint32_t> next(n), previous(n);
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>
      candidates;  // rank, position
  const auto consider = [&](std::uint32_t at) {
    const MergeTable::Merge found = merges_.find(symbols[at], symbols[next[at]]);
    if (found.rank != MergeTable::kNone) candidates.push(pair_of(found.rank, at));
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    previous[i] = i == 0 ? kEnd : i - 1;
    next[i] = i + 1 == n ? kEnd : i + 1;
  }
  for (std::uint32_t i = 0; i + 1 < n; ++i) consider(i);
  std::vector<bool> gone(n);
  while (!candidates.empty()) {
    const std::uint64_t top = candidates.top();
    candidates.pop();
    const auto at = static_cast<std::uint32_t>(top);
    if (gone[at] || next[at] == kEnd) continue;
    const std::uint32_t right = next[at];
    const MergeTable::Merge found = merges_.find(symbols[at], symbols[right]);
    if (found.rank != top >> 32) continue;
    symbols[at] = found.id;
    gone[right] = true;
    next[at] = next[right];
    if (next[at] != kEnd) {
      previous[next[at]] = at;
      consider(at);
    }
    if (previous[at] != kEnd) consider(previous[at]);
  }
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i != kEnd; i = next[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace leap::tokenizer
