#include "tokenizer/tokenizer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/pre_tokenizer.hpp"

namespace leap::tokenizer {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int64_t>;

const json kNull;

const json& member(const json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? kNull : *it;
}

/// The ids that a post-processor puts before and after a sequence.
struct Frame {
  Ids before, after;
};

Ids read_ids(const json& value, const std::string& where) {
  Ids ids;
  if (!value.is_array()) throw Error(where + ": must be an array of ids");
  for (const json& id : value) {
    if (!id.is_number_unsigned()) throw Error(where + ": must be an array of ids");
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

Frame read_template(const json& config, const std::string& where) {
  Frame frame;
  bool behind = false;
  for (const json& item : member(config, "single")) {
    if (const json& special = member(item, "SpecialToken"); special.is_object()) {
      const std::string name = special.value("id", "");
      const json& known = member(member(config, "special_tokens"), name.c_str());
      if (!known.is_object()) throw Error(where + ".special_tokens: \"" + name + "\" is missing");
      const Ids ids = read_ids(member(known, "ids"), where + ".special_tokens." + name + ".ids");
      Ids& side = behind ? frame.after : frame.before;
      side.insert(side.end(), ids.begin(), ids.end());
    } else if (!behind && member(item, "Sequence").is_object() &&
               member(item, "Sequence").value("id", "") == "A") {
      behind = true;
    } else {
      throw Error(where + ".single: " + item.dump() + " is not supported");
    }
  }
  if (!behind) throw Error(where + ".single: no sequence A");
  return frame;
}

void read_post_processor(const json& config, const std::string& where, std::vector<Frame>& frames) {
  if (config.is_null()) return;
  const std::string type = config.is_object() ? config.value("type", "") : "";
  if (type == "Sequence") {
    std::size_t i = 0;
    for (const json& part : member(config, "processors")) {
      read_post_processor(part, where + ".processors[" + std::to_string(i++) + "]", frames);
    }
  } else if (type == "TemplateProcessing") {
    frames.push_back(read_template(config, where));
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    Frame frame;
    for (const char* side : {"cls", "sep"}) {
      const json& token = member(config, side);
      if (!token.is_array() || token.size() != 2) throw Error(where + "." + side + ": must be [token, id]");
      (side[0] == 'c' ? frame.before : frame.after) = read_ids(json::array({token[1]}), where + "." + side);
    }
    frames.push_back(std::move(frame));
  } else if (type != "ByteLevel") {  // ByteLevel trims offsets only
    throw Error(where + ".type: post-processor \"" + type + "\" is not supported");
  }
}

/// Fuse after ByteLevel changes nothing; any other decoder would.
void check_decoder(const json& config, const std::string& where) {
  const std::string type = config.is_object() ? config.value("type", "") : "";
  const json& parts = member(config, "decoders");
  const bool sequence = type == "Sequence" && parts.is_array() && !parts.empty();
  bool good = type == "ByteLevel";
  if (sequence) {
    good = member(parts[0], "type") == "ByteLevel";
    for (std::size_t i = 1; i < parts.size(); ++i) good = good && member(parts[i], "type") == "Fuse";
  }
  if (!good) throw Error(where + ": only the ByteLevel decoder is supported, not " + config.dump());
}

bool overlaps(const std::vector<Span>& spans, std::size_t begin, std::size_t end) {
  const auto it = std::upper_bound(spans.begin(), spans.end(), begin,
                                   [](std::size_t at, const Span& span) { return at < span.end; });
  return it != spans.end() && it->begin < end;
}

}  // namespace

struct Tokenizer::Impl {
  Impl(const json& config, const std::string& name)
      : bpe(member(config, "model"), name + ": model"),
        normalizer(member(config, "normalizer"), name + ": normalizer"),
        pre_tokenizer(member(config, "pre_tokenizer"), name + ": pre_tokenizer") {
    read_post_processor(member(config, "post_processor"), name + ": post_processor", frames);
    check_decoder(member(config, "decoder"), name + ": decoder");
    add_tokens(member(config, "added_tokens"), name + ": added_tokens");
    list_tokens(name);
  }

  void add_tokens(const json& config, const std::string& where);
  void list_tokens(const std::string& name);

  enum class Specials { kParsed, kText, kTextInContent };
  void encode(std::string_view text, Specials specials, const std::vector<Span>& content, Ids& ids) const;
  void encode_plain(std::string_view text, Specials specials, const std::vector<Span>& content,
                    std::size_t offset, Ids& ids) const;

  Bpe bpe;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::vector<Frame> frames;
  TokenFinder raw_tokens;         ///< looked for in the text as it is
  TokenFinder normalized_tokens;  ///< looked for in the normalized text
  std::unordered_map<std::string, std::uint32_t> added;
  std::unordered_map<std::uint32_t, std::string>
      added_texts;  ///< what decoding shows of them: normalized if they are
  std::unordered_set<std::uint32_t> special_ids;
  std::vector<std::string> bytes;  ///< by id
};

/// Gives out ids as the package does: the file's own `id` does not count, but a token of the vocabulary keeps
/// its id.
void Tokenizer::Impl::add_tokens(const json& config, const std::string& where) {
  if (config.is_null()) return;
  if (!config.is_array()) throw Error(where + ": must be an array");
  std::vector<AddedToken> tokens;
  for (const json& item : config) {
    if (!item.is_object() || !member(item, "content").is_string())
      throw Error(where + ": a token without content");
    AddedToken token;
    token.content = item["content"].get<std::string>();
    token.special = item.value("special", false);
    token.normalized = item.value("normalized", true);
    token.lstrip = item.value("lstrip", false);
    token.rstrip = item.value("rstrip", false);
    token.single_word = item.value("single_word", false);
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  std::unordered_map<std::string, AddedToken> specials;  // the first special one of each content
  std::vector<const AddedToken*> patterns;
  for (const AddedToken& token : tokens) {
    if (token.special && specials.emplace(token.content, token).second) patterns.push_back(&token);
  }
  std::unordered_map<std::string, const AddedToken*> latest;
  std::uint32_t next = static_cast<std::uint32_t>(bpe.vocab().size());
  for (const AddedToken& token : tokens) {
    if (added.find(token.content) == added.end()) {
      const auto known = bpe.vocab().find(token.content);
      const std::uint32_t id = known != bpe.vocab().end() ? known->second : next;
      added.emplace(token.content, id);
      next = std::max(next, id + 1);
    }
    latest[token.content] = &token;
    if (specials.find(token.content) == specials.end()) patterns.push_back(&token);
  }
  for (const AddedToken* pattern : patterns) {
    AddedToken token = *latest[pattern->content];
    token.id = added[token.content];
    token.special = specials.find(token.content) != specials.end();
    if (token.special) special_ids.insert(token.id);
    std::string text = token.content;
    if (pattern->normalized) normalizer.apply(text);
    (pattern->normalized ? normalized_tokens : raw_tokens).add(text, token);
    std::string& shown = added_texts[token.id] = token.content;
    if (token.normalized) normalizer.apply(shown);
  }
}

void Tokenizer::Impl::list_tokens(const std::string& name) {
  std::size_t size = 0;
  for (const auto& [token, id] : bpe.vocab()) size = std::max<std::size_t>(size, std::size_t{id} + 1);
  for (const auto& [token, id] : added) size = std::max<std::size_t>(size, std::size_t{id} + 1);
  if (size > 4 * (bpe.vocab().size() + added.size()) + (1U << 20)) {
    throw Error(name + ": model.vocab: the ids go up to " + std::to_string(size - 1) +
                ", far more than there are tokens");
  }
  bytes.resize(size);
  const auto set = [&](const std::string& token, std::uint32_t id) {
    if (!bytes_of(token, bytes[id])) bytes[id] = token;
  };
  for (const auto& [token, id] : bpe.vocab()) set(token, id);
  for (const auto& [id, text] : added_texts) set(text, id);
}

void Tokenizer::Impl::encode(std::string_view text, Specials specials, const std::vector<Span>& content,
                             Ids& ids) const {
  TokenFinder::IsText is_text;
  if (specials == Specials::kText) is_text = [](std::size_t, std::size_t) { return true; };
  if (specials == Specials::kTextInContent) {
    is_text = [&](std::size_t begin, std::size_t end) { return overlaps(content, begin, end); };
  }
  std::vector<TokenFinder::Part> parts;
  raw_tokens.parts(text, is_text, specials == Specials::kText, parts);
  for (const auto& part : parts) {
    if (part.token != nullptr) {
      ids.push_back(part.token->id);
    } else {
      encode_plain(text.substr(part.begin, part.end - part.begin), specials, content, part.begin, ids);
    }
  }
}

/// `text` stands at `offset` of the whole text, to which `content` refers.
void Tokenizer::Impl::encode_plain(std::string_view text, Specials specials, const std::vector<Span>& content,
                                   std::size_t offset, Ids& ids) const {
  const auto sink = [&](std::string_view piece) { bpe.encode(piece, ids); };
  if (normalizer.empty() && normalized_tokens.empty()) return pre_tokenizer.split(text, sink);

  std::string normalized(text);
  normalizer.apply(normalized);
  if (normalized_tokens.empty()) return pre_tokenizer.split(normalized, sink);

  TokenFinder::IsText is_text;
  std::vector<Span> local;
  if (specials == Specials::kText) is_text = [](std::size_t, std::size_t) { return true; };
  if (specials == Specials::kTextInContent) {
    // Where a span's border lies after normalization: as far as what is before it, normalized, is long.
    const auto border = [&](std::size_t at) {
      const std::size_t here = std::min(at < offset ? 0 : at - offset, text.size());
      if (normalized == text || here == 0) return here;
      std::string before(text.substr(0, here));
      normalizer.apply(before);
      return before.size();
    };
    for (const Span& span : content) {
      if (span.end > offset && span.begin < offset + text.size())
        local.push_back({border(span.begin), border(span.end)});
    }
    is_text = [&](std::size_t begin, std::size_t end) { return overlaps(local, begin, end); };
  }
  std::vector<TokenFinder::Part> parts;
  normalized_tokens.parts(normalized, is_text, specials == Specials::kText, parts);
  for (const auto& part : parts) {
    if (part.token != nullptr) {
      ids.push_back(part.token->id);
    } else {
      pre_tokenizer.split(std::string_view(normalized).substr(part.begin, part.end - part.begin), sink);
    }
  }
}

Tokenizer::Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Tokenizer Tokenizer::load(const std::filesystem::path& dir) {
  const std::filesystem::path path = dir / "tokenizer.json";
  return from_json(read_file(path), path.string());
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& name) {
  try {
    const json config = json::parse(text);
    if (!config.is_object()) throw Error(name + ": must be a JSON object");
    return Tokenizer(std::make_shared<const Impl>(config, name));
  } catch (const json::exception& error) {
    throw Error(name + ": " + error.what());
  }
}

Ids Tokenizer::encode(std::string_view text, bool add_special, bool parse_special) const {
  std::string repaired;
  if (!is_utf8(text)) text = repaired = to_utf8(text);
  Ids ids;
  impl_->encode(text, parse_special ? Impl::Specials::kParsed : Impl::Specials::kText, {}, ids);
  if (add_special) {
    for (const Frame& frame : impl_->frames) {
      ids.insert(ids.begin(), frame.before.begin(), frame.before.end());
      ids.insert(ids.end(), frame.after.begin(), frame.after.end());
    }
  }
  return ids;
}

Ids Tokenizer::encode_with_content(std::string_view text, const std::vector<Span>& content) const {
  if (!is_utf8(text)) throw RecordError("text with message contents must be UTF-8");
  Ids ids;
  impl_->encode(text, Impl::Specials::kTextInContent, content, ids);
  return ids;
}

std::string Tokenizer::decode(const Ids& ids) const {
  std::string bytes;
  for (const std::int64_t id : ids) bytes += token_bytes(id);
  return to_utf8(bytes);
}

std::string_view Tokenizer::token_bytes(std::int64_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= impl_->bytes.size()) return {};
  return impl_->bytes[static_cast<std::size_t>(id)];
}

std::optional<std::int64_t> Tokenizer::token_id(std::string_view content) const {
  const std::string token(content);
  if (const auto it = impl_->added.find(token); it != impl_->added.end()) return it->second;
  if (const auto it = impl_->bpe.vocab().find(token); it != impl_->bpe.vocab().end()) return it->second;
  return std::nullopt;
}

bool Tokenizer::is_special(std::int64_t id) const {
  return id >= 0 && impl_->special_ids.count(static_cast<std::uint32_t>(id)) > 0;
}

std::size_t Tokenizer::size() const {
  return impl_->bytes.size();
}

}  // namespace leap::tokenizer
