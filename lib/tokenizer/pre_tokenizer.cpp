#include "tokenizer/pre_tokenizer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/unicode.hpp"

namespace leap::tokenizer {

PreTokenizer::PreTokenizer(const nlohmann::json& config, const std::string& where) {
  add(config, where);
  const auto levels =
      std::count_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.byte_level; });
  if (levels != 1) throw Error(where + ": not supported without exactly one ByteLevel (byte-level BPE)");
}

void PreTokenizer::add(const nlohmann::json& config, const std::string& where) {
  const std::string type = config.is_object() ? config.value("type", "") : "";
  const auto read_behaviour = [&](const char* otherwise) {
    const std::string name = config.value("behavior", otherwise);
    if (name == "Isolated") return Behaviour::kIsolated;
    if (name == "Removed") return Behaviour::kRemoved;
    if (name == "Contiguous") return Behaviour::kContiguous;
    if (name == "MergedWithPrevious") return Behaviour::kMergedWithPrevious;
    if (name == "MergedWithNext") return Behaviour::kMergedWithNext;
    throw Error(where + ".behavior: \"" + name + "\" is not supported");
  };
  Step step;
  if (type == "Sequence" && config.contains("pretokenizers") && config["pretokenizers"].is_array()) {
    std::size_t i = 0;
    for (const auto& part : config["pretokenizers"])
      add(part, where + ".pretokenizers[" + std::to_string(i++) + "]");
    return;
  }
  if (type == "ByteLevel") {
    step.byte_level = true;
    step.prefix_space = config.value("add_prefix_space", true);
    if (config.value("use_regex", true)) step.pattern = Pattern::regex(kGpt2Pattern);
  } else if (type == "Split" && config.contains("pattern")) {
    step.pattern = read_pattern(config["pattern"], where + ".pattern");
    step.behaviour = read_behaviour("");
    step.invert = config.value("invert", false);
  } else if (type == "Digits") {
    step.classes = kNumeric;
    step.behaviour = config.value("individual_digits", false) ? Behaviour::kIsolated : Behaviour::kContiguous;
  } else if (type == "Punctuation") {
    step.classes = kPunct;
    step.behaviour = read_behaviour("Isolated");
  } else if (type == "WhitespaceSplit") {
    step.classes = kSpace;
    step.behaviour = Behaviour::kRemoved;
  } else {
    throw Error(where +
                (type.empty() ? ": missing" : ".type: pre-tokenizer \"" + type + "\" is not supported"));
  }
  steps_.push_back(std::move(step));
}

void PreTokenizer::split(std::string_view text, const Sink& sink) const {
  if (!text.empty()) run(0, false, text, sink);
}

/// Applies `step` and the later ones. `mapped`: ByteLevel is behind, so `text` is in the byte alphabet.
void PreTokenizer::run(std::size_t step, bool mapped, std::string_view text, const Sink& sink) const {
  if (step == steps_.size()) {
    if (!mapped) return sink(text);
    std::string bytes;
    bytes_of(text, bytes);
    return sink(bytes);
  }
  const Step& it = steps_[step];
  if (it.prefix_space && text.front() != ' ') {
    std::string longer(1, ' ');
    longer += text;
    return split_at(step, mapped, longer, sink);
  }
  split_at(step, mapped, text, sink);
}

void PreTokenizer::split_at(std::size_t step, bool mapped, std::string_view text, const Sink& sink) const {
  const Step& it = steps_[step];
  const auto go_on = [&](std::string_view piece) {
    if (!it.byte_level || step + 1 == steps_.size()) return run(step + 1, mapped, piece, sink);
    std::string chars;
    for (const char c : piece) chars += byte_char(static_cast<unsigned char>(c));
    run(step + 1, true, chars, sink);
  };
  if (it.classes == 0 && !it.pattern) return go_on(text);
  if (it.pattern && it.pattern->scanner() != nullptr && it.behaviour == Behaviour::kIsolated) {
    const Scanner scan = it.pattern->scanner();
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p != end;) {
      const char* const next = scan(p, end);
      go_on({p, static_cast<std::size_t>(next - p)});
      p = next;
    }
    return;
  }
  std::vector<Piece> pieces;
  find(it, text, pieces);
  if (it.invert) {
    for (Piece& piece : pieces) piece.matched = !piece.matched;
  }
  merge(it.behaviour, pieces);
  for (const Piece& piece : pieces) {
    if (piece.begin != piece.end) go_on(text.substr(piece.begin, piece.end - piece.begin));
  }
}

void PreTokenizer::find(const Step& step, std::string_view text, std::vector<Piece>& pieces) {
  if (step.pattern) return step.pattern->pieces(text, pieces);
  const std::uint8_t* const classes = char_classes();
  std::size_t last = 0, length = 0;
  for (std::size_t i = 0; i < text.size(); i += length) {
    if ((classes[decode_char(text.data() + i, length)] & step.classes) == 0) continue;
    if (last != i) pieces.push_back({last, i, false});
    last = i + length;
    pieces.push_back({i, last, true});
  }
  if (last != text.size()) pieces.push_back({last, text.size(), false});
}

void PreTokenizer::merge(Behaviour behaviour, std::vector<Piece>& pieces) {
  std::vector<Piece> out;
  bool previous = false;
  switch (behaviour) {
    case Behaviour::kIsolated:
      return;
    case Behaviour::kRemoved:
      pieces.erase(std::remove_if(pieces.begin(), pieces.end(), [](const Piece& p) { return p.matched; }),
                   pieces.end());
      return;
    case Behaviour::kContiguous:
      for (const Piece& piece : pieces) {
        if (!out.empty() && piece.matched == previous) {
          out.back().end = piece.end;
        } else {
          out.push_back(piece);
        }
        previous = piece.matched;
      }
      break;
    case Behaviour::kMergedWithPrevious:
      for (const Piece& piece : pieces) {
        if (piece.matched && !previous && !out.empty()) {
          out.back().end = piece.end;
        } else {
          out.push_back(piece);
        }
        previous = piece.matched;
      }
      break;
    case Behaviour::kMergedWithNext:
      for (auto it = pieces.rbegin(); it != pieces.rend(); ++it) {
        if (it->matched && !previous && !out.empty()) {
          out.back().begin = it->begin;
        } else {
          out.push_back(*it);
        }
        previous = it->matched;
      }
      std::reverse(out.begin(), out.end());
      break;
  }
  pieces = std::move(out);
}

}  // namespace leap::tokenizer
