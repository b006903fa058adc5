#include "tokenizer/normalizer.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "tokenizer/unicode.hpp"

namespace leap::tokenizer {
namespace {

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

/// Puts long runs of combining marks into canonical order, for which utf8proc needs quadratic time; the
/// normal forms of the text stay what they are.
void order_marks(std::string& text) {
  constexpr std::size_t kLong = 32;
  std::vector<std::pair<int, std::uint32_t>> run;  // combining class, code point
  std::size_t begin = 0, length = 0;
  const auto flush = [&](std::size_t end) {
    if (run.size() > kLong) {
      std::stable_sort(run.begin(), run.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      std::string sorted;
      for (const auto& mark : run) append_char(sorted, mark.second);
      text.replace(begin, end - begin, sorted);
    }
    run.clear();
  };
  for (std::size_t i = 0; i < text.size(); i += length) {
    const std::uint32_t c = decode_char(text.data() + i, length);
    const int order =
        c < 0x300 ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
    if (order == 0) {
      flush(i);
      begin = i + length;
    } else {
      run.emplace_back(order, c);
    }
  }
  flush(text.size());
}

void normal_form(std::string& text, int options) {
  if (is_ascii(text)) return;
  order_marks(text);
  utf8proc_uint8_t* out = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &out,
                                   static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE));
  if (length < 0) throw RecordError(std::string("text cannot be normalized: ") + utf8proc_errmsg(length));
  text.assign(reinterpret_cast<const char*>(out), static_cast<std::size_t>(length));
  std::free(out);
}

void lowercase(std::string& text) {
  std::string out;
  out.reserve(text.size());
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); i += length) {
    const std::uint32_t c = decode_char(text.data() + i, length);
    if (c == 0x130) {
      out += "i\xcc\x87";
    } else {
      append_char(out, static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  }
  text = std::move(out);
}

bool is_space_at(const char* p) {
  std::size_t length = 0;
  return (char_classes()[decode_char(p, length)] & kSpace) != 0;
}

void strip(std::string& text, bool left, bool right) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  std::size_t length = 0;
  while (left && begin != end && (char_classes()[decode_char(begin, length)] & kSpace) != 0) begin += length;
  while (right && begin != end && is_space_at(char_before(end))) end = char_before(end);
  text = std::string(begin, end);
}

}  // namespace

Pattern read_pattern(const nlohmann::json& config, const std::string& where) {
  if (config.is_object() && config.size() == 1 && config.begin()->is_string()) {
    const auto& text = config.begin()->get_ref<const std::string&>();
    try {
      if (config.begin().key() == "Regex") return Pattern::regex(text);
      if (config.begin().key() == "String") return Pattern::literal(text);
    } catch (const Error& error) {
      throw Error(where + ": " + error.what());
    }
  }
  throw Error(where + ": must be {\"Regex\": ..} or {\"String\": ..}");
}

Normalizer::Normalizer(const nlohmann::json& config, const std::string& where) {
  if (!config.is_null()) add(config, where);
}

void Normalizer::add(const nlohmann::json& config, const std::string& where) {
  const std::string type = config.is_object() ? config.value("type", "") : "";
  if (type == "Sequence" && config.contains("normalizers") && config["normalizers"].is_array()) {
    std::size_t i = 0;
    for (const auto& part : config["normalizers"])
      add(part, where + ".normalizers[" + std::to_string(i++) + "]");
    return;
  }
  Step step{};
  if (type == "NFC") {
    step.kind = Kind::kNfc;
  } else if (type == "NFD") {
    step.kind = Kind::kNfd;
  } else if (type == "NFKC") {
    step.kind = Kind::kNfkc;
  } else if (type == "NFKD") {
    step.kind = Kind::kNfkd;
  } else if (type == "Lowercase") {
    step.kind = Kind::kLowercase;
  } else if (type == "Strip") {
    step.kind = Kind::kStrip;
    step.left = config.value("strip_left", false);
    step.right = config.value("strip_right", false);
  } else if (type == "Prepend") {
    step.kind = Kind::kPrepend;
    step.text = config.value("prepend", "");
  } else if (type == "Replace" && config.contains("pattern")) {
    step.kind = Kind::kReplace;
    step.text = config.value("content", "");
    step.pattern = read_pattern(config["pattern"], where + ".pattern");
  } else {
    throw Error(where + ".type: normalizer " + (type.empty() ? "without a type" : "\"" + type + "\"") +
                " is not supported");
  }
  steps_.push_back(std::move(step));
}

void Normalizer::apply(std::string& text) const {
  for (const Step& step : steps_) apply(step, text);
}

void Normalizer::apply(const Step& step, std::string& text) {
  switch (step.kind) {
    case Kind::kNfc:
      return normal_form(text, UTF8PROC_COMPOSE);
    case Kind::kNfd:
      return normal_form(text, UTF8PROC_DECOMPOSE);
    case Kind::kNfkc:
      return normal_form(text, UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case Kind::kNfkd:
      return normal_form(text, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
    case Kind::kLowercase:
      return lowercase(text);
    case Kind::kStrip:
      return strip(text, step.left, step.right);
    case Kind::kPrepend:
      if (!text.empty()) text.insert(0, step.text);
      return;
    case Kind::kReplace: {
      std::vector<Piece> pieces;
      step.pattern->pieces(text, pieces);
      std::string out;
      for (const Piece& piece : pieces) {
        if (piece.matched) {
          out += step.text;
        } else {
          out.append(text, piece.begin, piece.end - piece.begin);
        }
      }
      text = std::move(out);
      return;
    }
  }
}

}  // namespace leap::tokenizer
