#include "jsonl/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"

namespace leap::jsonl {
namespace {

// A raw value is carried by nlohmann's binary type, which no JSON text can produce.
constexpr std::uint8_t kRaw = 1;

// Long token arrays are cut out before parsing and stand in the text as this number; parsed, its text is
// recognised again. A line that contains it anyway is parsed without cutting.
constexpr std::string_view kPlaceholder = "0.0e-31337";
constexpr std::size_t kMinLifted = 64;
constexpr std::array<std::string_view, 4> kTokenKeys = {"prompt_ids", "completion_ids", "logprobs",
                                                        "ref_logprobs"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_white(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char* skip_white(const char* p, const char* end) {
  while (p != end && is_white(*p)) ++p;
  return p;
}

/// The end of the array of plain numbers (no exponent, at most 300 digits) that starts at `p`, or null.
const char* end_of_number_array(const char* p, const char* end) {
  ++p;  // [
  while (true) {
    p = skip_white(p, end);
    const char* number = p;
    if (p != end && *p == '-') ++p;
    if (p == end || !is_digit(*p)) return nullptr;
    if (*p == '0') {
      ++p;
    } else {
      while (p != end && is_digit(*p)) ++p;
    }
    if (p != end && *p == '.') {
      ++p;
      if (p == end || !is_digit(*p)) return nullptr;
      while (p != end && is_digit(*p)) ++p;
    }
    if (p - number > 300) return nullptr;
    p = skip_white(p, end);
    if (p == end) return nullptr;
    if (*p == ']') return p + 1;
    if (*p != ',') return nullptr;
    ++p;
  }
}

/// The end of the string whose opening quote is at `p` (one past the closing quote), or null.
const char* end_of_string(const char* p, const char* end) {
  const char* q = p + 1;
  while (true) {
    q = static_cast<const char*>(std::memchr(q, '"', static_cast<std::size_t>(end - q)));
    if (q == nullptr) return nullptr;
    std::size_t backslashes = 0;
    while (q[-1 - static_cast<std::ptrdiff_t>(backslashes)] == '\\') ++backslashes;
    ++q;
    if (backslashes % 2 == 0) return q;
  }
}

/// Copies `line` to `rest` with every long array of plain numbers under a token key replaced by the
/// placeholder. Any other text, well-formed or not, stays as it is.
void lift_arrays(std::string_view line, std::string& rest, std::vector<std::string_view>& lifted) {
  const char* const end = line.data() + line.size();
  const char* copied = line.data();
  const char* p = line.data();
  while (true) {
    p = static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
    if (p == nullptr) break;
    const char* after = end_of_string(p, end);
    if (after == nullptr) break;
    const std::string_view text(p + 1, static_cast<std::size_t>(after - p - 2));
    p = after;
    if (std::find(kTokenKeys.begin(), kTokenKeys.end(), text) == kTokenKeys.end()) continue;
    const char* value = skip_white(p, end);
    if (value == end || *value != ':') continue;
    value = skip_white(value + 1, end);
    if (value == end || *value != '[') continue;
    const char* array_end = end_of_number_array(value, end);
    if (array_end == nullptr || static_cast<std::size_t>(array_end - value) < kMinLifted) continue;
    rest.append(copied, value).append(kPlaceholder);
    lifted.emplace_back(value, static_cast<std::size_t>(array_end - value));
    copied = p = array_end;
  }
  rest.append(copied, end);
}

/// Copies `text` to `rest` with integers that are too long for a double replaced by the placeholder, too;
/// those that are there already stand for `arrays`, in order.
void lift_integers(std::string_view text, const std::vector<std::string_view>& arrays, std::string& rest,
                   std::vector<std::string_view>& lifted) {
  constexpr std::size_t kLongest = 300;
  const char *p = text.data(), *const end = p + text.size(), *copied = p;
  std::size_t next_array = 0;
  while (p != end) {
    if (*p == '"') {
      p = end_of_string(p, end);
      if (p == nullptr) break;
    } else if (is_digit(*p) || *p == '-') {
      const char* const number = p++;
      while (p != end && is_digit(*p)) ++p;
      const char* const digits_end = p;
      while (p != end && (is_digit(*p) || *p == '.' || *p == 'e' || *p == 'E' || *p == '-' || *p == '+')) ++p;
      const std::string_view all(number, static_cast<std::size_t>(p - number));
      const char first = number[*number == '-' ? 1 : 0];
      if (all == kPlaceholder && next_array < arrays.size()) {
        lifted.push_back(arrays[next_array++]);
      } else if (p == digits_end && all.size() > kLongest && first != '0') {
        rest.append(copied, number).append(kPlaceholder);
        lifted.push_back(all);
        copied = p;
      }
    } else {
      ++p;
    }
  }
  rest.append(copied, end);
}

/// Keeps the first place and the last value of members given twice.
void merge_duplicates(Json::object_t& object) {
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  bool unique = true;
  if (object.size() <= 16) {
    for (auto a = object.begin(); unique && a != object.end(); ++a) {
      for (auto b = object.begin(); unique && b != a; ++b) unique = !same(*a, *b);
    }
    if (unique) return;
  }
  std::unordered_map<std::string, std::size_t> place;
  Json::object_t merged;
  for (auto& [key, value] : object) {
    const auto [it, fresh] = place.emplace(key, place.size());
    if (fresh) {
      static_cast<Json::object_t::Container&>(merged).emplace_back(key, std::move(value));
    } else {
      (merged.begin() + static_cast<std::ptrdiff_t>(it->second))->second = std::move(value);
    }
  }
  object = std::move(merged);
}

class Builder {
 public:
  explicit Builder(const std::vector<std::string_view>& lifted) : lifted_(lifted) {}

  Json take() { return std::move(root_); }
  const std::string& error() const { return error_; }
  bool overflow() const { return overflow_; }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(Json::number_integer_t value) { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return put(value); }
  bool number_float(Json::number_float_t value, const std::string& text) {
    if (next_lifted_ < lifted_.size() && text == kPlaceholder)
      return put(raw(std::string(lifted_[next_lifted_++])));
    if (text.find_first_of(".eE") == std::string::npos) return put(raw(text));  // an integer beyond 64 bits
    return put(value);
  }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool key(std::string& value) {
    static_cast<Json::object_t::Container&>(stack_.back()->get_ref<Json::object_t&>())
        .emplace_back(std::move(value), nullptr);
    return true;
  }
  bool end_object() {
    merge_duplicates(stack_.back()->get_ref<Json::object_t&>());
    stack_.pop_back();
    return true;
  }
  bool end_array() {
    stack_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    constexpr int kOutOfRange = 406;
    overflow_ = e.id == kOutOfRange;
    std::string what = overflow_ ? "a number that overflows a double" : e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ..." -> the last part
    const auto colon = what.find(": ");
    if (colon != std::string::npos) what.erase(0, colon + 2);
    if (what.rfind("syntax error while parsing ", 0) == 0) what.erase(0, 13);
    error_ = "not valid JSON at byte " + std::to_string(position) + ": " + what;
    return false;
  }

 private:
  template <class T>
  Json* place(T&& value) {
    if (stack_.empty()) {
      root_ = std::forward<T>(value);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      auto& array = parent.get_ref<Json::array_t&>();
      array.emplace_back(std::forward<T>(value));
      return &array.back();
    }
    Json& slot = parent.get_ref<Json::object_t&>().back().second;
    slot = std::forward<T>(value);
    return &slot;
  }
  template <class T>
  bool put(T&& value) {
    place(std::forward<T>(value));
    return true;
  }
  bool open(Json container) {
    if (stack_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      error_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    stack_.push_back(place(std::move(container)));
    return true;
  }

  const std::vector<std::string_view>& lifted_;
  std::size_t next_lifted_ = 0;
  Json root_;
  std::vector<Json*> stack_;
  std::string error_;
  bool overflow_ = false;
};

/// A number that no double holds; it may be an integer.
struct Overflow : RecordError {
  using RecordError::RecordError;
};

Json parse_with(std::string_view text, const std::vector<std::string_view>& lifted) {
  Builder builder(lifted);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    std::string error = builder.error().empty() ? "not valid JSON" : builder.error();
    for (char& c : error) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    if (builder.overflow()) throw Overflow(error);
    throw RecordError(error);
  }
  return builder.take();
}

/// The escape of the line end of Unicode (U+0085, U+2028, U+2029) that stands at `text`, or "".
std::string_view line_end_escape(std::string_view text) {
  if (text.starts_with("\xC2\x85")) return "\\u0085";
  if (text.starts_with("\xE2\x80\xA8")) return "\\u2028";
  if (text.starts_with("\xE2\x80\xA9")) return "\\u2029";
  return "";
}

void dump_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == 0xC2 || c == 0xE2) {
      const std::string_view escape = line_end_escape(text.substr(i, 3));
      if (escape.empty()) continue;
      out.append(text, start, i - start);
      out += escape;
      i += c == 0xC2 ? 1 : 2;
      start = i + 1;
      continue;
    }
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, start, i - start);
    start = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        out += "\\u00";
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(text, start, text.size() - start);
  out.push_back('"');
}

template <class T>
void dump_integer(std::string& out, T value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void dump_double(std::string& out, double value) {
  if (!std::isfinite(value)) throw RecordError("a number is not finite; JSON has no NaN or infinity");
  char buffer[40];
  const std::string_view text(
      buffer, static_cast<std::size_t>(std::to_chars(buffer, buffer + sizeof buffer, value).ptr - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

template <class T>
std::vector<T> array_of(const Json& value) {
  std::vector<T> out;
  const auto fail = [] {
    throw RecordError(std::is_integral_v<T> ? "must be an array of integers" : "must be an array of numbers");
  };
  if (value.is_array()) {
    out.reserve(value.size());
    for (const Json& item : value) {
      if (std::is_integral_v<T> ? !item.is_number_integer() : !item.is_number()) fail();
      out.push_back(item.get<T>());
    }
    return out;
  }
  if (!is_array(value)) fail();
  const std::string_view text = raw_text(value);
  const char* p = text.data() + 1;
  const char* const end = text.data() + text.size();
  while (true) {
    p = skip_white(p, end);
    T item{};
    const auto [next, code] = std::from_chars(p, end, item);
    if (code != std::errc{}) fail();
    out.push_back(item);
    p = skip_white(next, end);
    if (p == end || *p == ']') return out;
    if (*p != ',') fail();
    ++p;
  }
}

}  // namespace

Json parse(std::string_view text) {
  std::string rest;
  std::vector<std::string_view> lifted;
  if (text.find("_ids\"") != std::string_view::npos || text.find("logprobs\"") != std::string_view::npos) {
    lift_arrays(text, rest, lifted);
    if (!lifted.empty() && text.find(kPlaceholder) == std::string_view::npos) {
      try {
        return parse_with(rest, lifted);
      } catch (const RecordError&) {
        // Parse the whole text, for the right position in the message.
      }
    }
  }
  try {
    return parse_with(text, {});
  } catch (const Overflow&) {
    if (text.find(kPlaceholder) != std::string_view::npos) throw;
    std::string shorter;
    std::vector<std::string_view> all;
    lift_integers(lifted.empty() ? text : rest, lifted, shorter, all);
    if (all.size() == lifted.size()) throw;
    return parse_with(shorter, all);
  }
}

Json parse_record(std::string_view line) {
  Json record = parse(line);
  if (!record.is_object()) throw RecordError("not a JSON object");
  return record;
}

void dump_to(std::string& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: {
      char separator = '{';
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        out.push_back(separator);
        separator = ',';
        dump_string(out, key);
        out.push_back(':');
        dump_to(out, member);
      }
      if (separator == '{') out.push_back('{');
      out.push_back('}');
      break;
    }
    case Json::value_t::array: {
      char separator = '[';
      for (const Json& item : value) {
        out.push_back(separator);
        separator = ',';
        dump_to(out, item);
      }
      if (separator == '[') out.push_back('[');
      out.push_back(']');
      break;
    }
    case Json::value_t::string:
      dump_string(out, value.get_ref<const std::string&>());
      break;
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      break;
    case Json::value_t::number_integer:
      dump_integer(out, value.get<std::int64_t>());
      break;
    case Json::value_t::number_unsigned:
      dump_integer(out, value.get<std::uint64_t>());
      break;
    case Json::value_t::number_float:
      dump_double(out, value.get<double>());
      break;
    case Json::value_t::binary:
      out += raw_text(value);
      break;
    case Json::value_t::null:
    case Json::value_t::discarded:
      out += "null";
      break;
  }
}

std::string dump(const Json& value) {
  std::string out;
  dump_to(out, value);
  return out;
}

bool is_raw(const Json& value) {
  return value.is_binary();
}

std::string_view raw_text(const Json& value) {
  const auto& bytes = value.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Json raw(std::string text) {
  return Json::binary(std::vector<std::uint8_t>(text.begin(), text.end()), kRaw);
}

void expand(Json& value) {
  if (is_raw(value)) {
    if (is_array(value)) value = parse_with(raw_text(value), {});
    return;
  }
  if (value.is_structured()) {
    for (Json& item : value) expand(item);
  }
}

bool is_array(const Json& value) {
  return value.is_array() || (is_raw(value) && raw_text(value).front() == '[');
}

std::vector<double> numbers(const Json& value) {
  return array_of<double>(value);
}

std::vector<std::int64_t> integers(const Json& value) {
  return array_of<std::int64_t>(value);
}

std::size_t array_size(const Json& value) {
  if (value.is_array()) return value.size();
  if (!is_array(value)) throw RecordError("must be an array of numbers");
  const std::string_view text = raw_text(value);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + 1;
}

Json raw_ids(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return Json::array();
  std::string out = "[";
  for (std::int64_t id : ids) {
    if (out.size() > 1) out.push_back(',');
    dump_integer(out, id);
  }
  out.push_back(']');
  return raw(std::move(out));
}

Json raw_logprobs(const std::vector<double>& logprobs) {
  if (logprobs.empty()) return Json::array();
  std::string out = "[";
  for (double value : logprobs) {
    if (!std::isfinite(value)) throw RecordError("a log-prob is not finite");
    if (out.size() > 1) out.push_back(',');
    char buffer[340];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 6).ptr);
  }
  out.push_back(']');
  return raw(std::move(out));
}

}  // namespace leap::jsonl
