#include "verify/value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"

namespace leap::verify {
namespace {

constexpr int kMaxDepth = 600;
constexpr std::size_t kMaxShownDigits = 400;

using Digits = std::vector<std::uint16_t>;

class Reader {
 public:
  Reader(std::string_view bytes, std::size_t max_nodes) : rest_(bytes), nodes_left_(max_nodes) {}

  Value all() {
    Value value = one(0);
    if (!rest_.empty()) bad();
    return value;
  }

 private:
  [[noreturn]] static void bad() { throw RecordError("not plain data"); }

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) bad();
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::int32_t int32() {
    const std::string_view b = take(4);
    std::uint32_t n = 0;
    for (int i = 3; i >= 0; --i) n = n << 8 | static_cast<unsigned char>(b[static_cast<std::size_t>(i)]);
    return static_cast<std::int32_t>(n);
  }
  std::size_t size() {
    const std::int32_t n = int32();
    if (n < 0) bad();
    return static_cast<std::size_t>(n);
  }

  Value big() {
    Value value;
    const std::int32_t n = int32();
    value.negative = n < 0;
    const std::size_t count = n < 0 ? 0 - static_cast<std::size_t>(n) : static_cast<std::size_t>(n);
    const std::string_view bytes = take(count * 2);
    value.digits.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      value.digits[i] = static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[2 * i]) |
                                                   static_cast<unsigned char>(bytes[2 * i + 1]) << 8);
      if (value.digits[i] >> 15) bad();
    }
    while (!value.digits.empty() && value.digits.back() == 0) value.digits.pop_back();
    // Integers of up to 62 bits have one form, whatever form they came in.
    if (value.digits.size() > 4) {
      value.kind = Value::Kind::kBig;
      if (value.digits.size() == 5 && value.digits[4] < 8) {  // below 2^63
        std::int64_t sum = 0;
        for (std::size_t i = 5; i-- > 0;) sum = sum << 15 | value.digits[i];
        value.kind = Value::Kind::kInt;
        value.integer = value.negative ? -sum : sum;
      }
      return value;
    }
    std::int64_t sum = 0;
    for (std::size_t i = value.digits.size(); i-- > 0;) sum = sum << 15 | value.digits[i];
    value.kind = Value::Kind::kInt;
    value.integer = value.negative ? -sum : sum;
    return value;
  }

  Value one(int depth) {
    if (depth > kMaxDepth || nodes_left_ == 0) bad();
    --nodes_left_;
    Value value;
    switch (take(1)[0]) {
      case 'N':
        return value;
      case 'T':
      case 'F':
        value.kind = Value::Kind::kBool;
        value.integer = rest_.data()[-1] == 'T';
        return value;
      case 'i':
        value.kind = Value::Kind::kInt;
        value.integer = int32();
        return value;
      case 'l':
        return big();
      case 'g':
        value.kind = Value::Kind::kFloat;
        std::memcpy(&value.number, take(8).data(), 8);
        return value;
      case 'u':
        value.kind = Value::Kind::kText;
        value.text = take(size());
        return value;
      case 's':
        value.kind = Value::Kind::kOther;
        take(size());
        return value;
      case 'y':
        value.kind = Value::Kind::kOther;
        take(16);
        return value;
      case '[':
      case '(':
      case '<':
      case '>': {
        const char tag = rest_.data()[-1];
        value.kind = tag == '[' || tag == '(' ? Value::Kind::kList : Value::Kind::kOther;
        const std::size_t count = size();
        value.items.reserve(std::min({count, rest_.size(), nodes_left_}));
        for (std::size_t i = 0; i < count; ++i) value.items.push_back(one(depth + 1));
        return value;
      }
      case '{':
        value.kind = Value::Kind::kDict;
        while (true) {
          if (!rest_.empty() && rest_[0] == '0') {
            rest_.remove_prefix(1);
            return value;
          }
          value.items.push_back(one(depth + 1));
          value.items.push_back(one(depth + 1));
        }
      default:
        bad();
    }
  }

  std::string_view rest_;
  std::size_t nodes_left_;
};

/// Decimal digits to base 2^15.
Digits digits_of(std::string_view decimal) {
  Digits out;
  std::vector<std::uint32_t> limbs;  // base 2^30
  for (std::size_t at = 0; at < decimal.size();) {
    const std::size_t take = std::min<std::size_t>(9, decimal.size() - at);
    std::uint64_t scale = 1, carry = 0;
    for (std::size_t i = 0; i < take; ++i) {
      scale *= 10;
      carry = carry * 10 + static_cast<std::uint64_t>(decimal[at + i] - '0');
    }
    for (std::uint32_t& limb : limbs) {
      const std::uint64_t sum = limb * scale + carry;
      limb = static_cast<std::uint32_t>(sum & 0x3fffffff);
      carry = sum >> 30;
    }
    if (carry) limbs.push_back(static_cast<std::uint32_t>(carry));
    at += take;
  }
  for (const std::uint32_t limb : limbs) {
    out.push_back(limb & 0x7fff);
    out.push_back(static_cast<std::uint16_t>(limb >> 15));
  }
  while (!out.empty() && out.back() == 0) out.pop_back();
  return out;
}

/// Base 2^15 to decimal.
std::string decimal_of(Digits digits) {
  std::string out;
  while (!digits.empty()) {
    std::uint32_t rest = 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
      rest = rest << 15 | digits[i];
      digits[i] = static_cast<std::uint16_t>(rest / 10000);
      rest %= 10000;
    }
    while (!digits.empty() && digits.back() == 0) digits.pop_back();
    for (int i = 0; i < 4; ++i) {
      out += static_cast<char>('0' + rest % 10);
      rest /= 10;
      if (digits.empty() && rest == 0) break;
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

struct Big {
  bool negative = false;
  Digits digits;
};

Big big_of(std::string_view decimal) {
  Big out;
  if (!decimal.empty() && decimal[0] == '-') {
    out.negative = true;
    decimal.remove_prefix(1);
  }
  out.digits = digits_of(decimal);
  return out;
}

double to_double(bool negative, const Digits& digits) {
  double sum = 0;
  for (std::size_t i = digits.size(); i-- > 0;) sum = sum * 32768 + digits[i];
  return negative ? -sum : sum;
}

void put32(std::string& out, std::uint32_t n) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(n >> (8 * i));
}

void put_big(std::string& out, bool negative, const Digits& digits) {
  out += 'l';
  const auto count = static_cast<std::int32_t>(digits.size());
  put32(out, static_cast<std::uint32_t>(negative ? -count : count));
  for (const std::uint16_t digit : digits) {
    out += static_cast<char>(digit & 0xff);
    out += static_cast<char>(digit >> 8);
  }
}

bool is_big(const Json& value) {
  return jsonl::is_raw(value) && jsonl::raw_text(value).find('[') == std::string_view::npos;
}

void put(std::string& out, const Json& value) {
  if (jsonl::is_raw(value)) {
    if (is_big(value)) {
      const Big big = big_of(jsonl::raw_text(value));
      put_big(out, big.negative, big.digits);
    } else {
      Json parsed = value;
      jsonl::expand(parsed);
      put(out, parsed);
    }
    return;
  }
  switch (value.type()) {
    case Json::value_t::boolean:
      out += value.get<bool>() ? 'T' : 'F';
      break;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: {
      if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
        put_big(out, false, big_of(std::to_string(value.get<std::uint64_t>())).digits);
        break;
      }
      const auto n = value.get<std::int64_t>();
      if (n >= INT32_MIN && n <= INT32_MAX) {
        out += 'i';
        put32(out, static_cast<std::uint32_t>(n));
      } else {
        const Big big = big_of(std::to_string(n));
        put_big(out, big.negative, big.digits);
      }
      break;
    }
    case Json::value_t::number_float: {
      const double number = value.get<double>();
      char bytes[8];
      std::memcpy(bytes, &number, 8);
      out += 'g';
      out.append(bytes, 8);
      break;
    }
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      out += 'u';
      put32(out, static_cast<std::uint32_t>(text.size()));
      out += text;
      break;
    }
    case Json::value_t::array:
      out += '[';
      put32(out, static_cast<std::uint32_t>(value.size()));
      for (const Json& item : value) put(out, item);
      break;
    case Json::value_t::object:
      out += '{';
      for (const auto& [key, item] : value.items()) {
        put(out, Json(key));
        put(out, item);
      }
      out += '0';
      break;
    default:
      out += 'N';
  }
}

bool near(double got, double want, double tolerance) {
  // An integer beyond all doubles is no infinity.
  if (!std::isfinite(got) || !std::isfinite(want)) return false;
  return std::fabs(got - want) <= tolerance * std::max(1.0, std::fabs(want));
}

std::string key_text(const Value& key) {
  if (key.kind == Value::Kind::kInt) return std::to_string(key.integer);
  // Decimal digits take quadratic time: a longer key is none that a test has.
  if (key.kind == Value::Kind::kBig && key.digits.size() > kMaxShownDigits) return "(a long integer)";
  if (key.kind == Value::Kind::kBig) return (key.negative ? "-" : "") + decimal_of(key.digits);
  return key.text;
}

}  // namespace

Value read_marshal(std::string_view bytes, std::size_t max_nodes) {
  return Reader(bytes, max_nodes).all();
}

std::size_t nodes_of(const Json& value) {
  if (jsonl::is_raw(value)) {
    const std::string_view text = jsonl::raw_text(value);
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + text.size() / 2;
  }
  std::size_t sum = 1;
  if (value.is_structured())
    for (const Json& item : value) sum += 1 + nodes_of(item);
  return sum;
}

std::string write_marshal(const Json& value) {
  std::string out;
  put(out, value);
  return out;
}

bool same(const Value& got, const Json& want, double tolerance) {
  if (jsonl::is_raw(want) && !is_big(want)) {
    Json parsed = want;
    jsonl::expand(parsed);
    return same(got, parsed, tolerance);
  }
  const bool want_big = is_big(want) || (want.is_number_unsigned() && want.get<std::uint64_t>() > INT64_MAX);
  switch (got.kind) {
    case Value::Kind::kNull:
      return want.is_null();
    case Value::Kind::kBool:
      return want.is_boolean() && want.get<bool>() == (got.integer != 0);
    case Value::Kind::kInt:
    case Value::Kind::kBig:
      if (want_big) {
        if (got.kind != Value::Kind::kBig) return false;
        const Big big =
            is_big(want) ? big_of(jsonl::raw_text(want)) : big_of(std::to_string(want.get<std::uint64_t>()));
        return big.negative == got.negative && big.digits == got.digits;
      }
      if (want.is_number_float()) {
        const double number = got.kind == Value::Kind::kInt ? static_cast<double>(got.integer)
                                                            : to_double(got.negative, got.digits);
        return near(number, want.get<double>(), tolerance);
      }
      if (!want.is_number_integer()) return false;
      if (got.kind == Value::Kind::kInt) return want.get<std::int64_t>() == got.integer;
      return got.negative == (want.get<std::int64_t>() < 0) && got.digits == big_of(want.dump()).digits;
    case Value::Kind::kFloat: {
      if (want_big) {
        const Big big =
            is_big(want) ? big_of(jsonl::raw_text(want)) : big_of(std::to_string(want.get<std::uint64_t>()));
        return near(got.number, to_double(big.negative, big.digits), tolerance);
      }
      return want.is_number() && near(got.number, want.get<double>(), tolerance);
    }
    case Value::Kind::kText:
      return want.is_string() && want.get_ref<const std::string&>() == got.text;
    case Value::Kind::kList: {
      if (!want.is_array() || want.size() != got.items.size()) return false;
      for (std::size_t i = 0; i < got.items.size(); ++i)
        if (!same(got.items[i], want[i], tolerance)) return false;
      return true;
    }
    case Value::Kind::kDict: {
      if (!want.is_object() || want.size() * 2 != got.items.size()) return false;
      std::map<std::string, const Value*> members;
      for (std::size_t i = 0; i < got.items.size(); i += 2)
        members[key_text(got.items[i])] = &got.items[i + 1];
      if (members.size() != want.size()) return false;
      for (const auto& [key, item] : want.items()) {
        const auto found = members.find(key);
        if (found == members.end() || !same(*found->second, item, tolerance)) return false;
      }
      return true;
    }
    case Value::Kind::kOther:
      return false;
  }
  return false;
}

namespace {

void show_to(std::string& out, const Value& value, std::size_t limit) {
  if (out.size() > limit) return;
  switch (value.kind) {
    case Value::Kind::kNull:
      out += "null";
      break;
    case Value::Kind::kBool:
      out += value.integer ? "true" : "false";
      break;
    case Value::Kind::kInt:
      out += std::to_string(value.integer);
      break;
    case Value::Kind::kBig:
      if (value.digits.size() > kMaxShownDigits)
        out += "(an integer of about " + std::to_string(value.digits.size() * 15) + " bits)";
      else
        out += (value.negative ? "-" : "") + decimal_of(value.digits);
      break;
    case Value::Kind::kFloat:
      if (std::isfinite(value.number))
        out += Json(value.number).dump();
      else
        out += std::isnan(value.number) ? "nan" : value.number > 0 ? "inf" : "-inf";
      break;
    case Value::Kind::kText:
      out += Json(shorten(to_utf8(value.text), limit)).dump();
      break;
    case Value::Kind::kList:
    case Value::Kind::kDict: {
      const bool dict = value.kind == Value::Kind::kDict;
      out += dict ? '{' : '[';
      for (std::size_t i = 0; i < value.items.size() && out.size() <= limit; ++i) {
        if (i > 0) out += dict && i % 2 ? ": " : ", ";
        show_to(out, value.items[i], limit);
      }
      out += dict ? '}' : ']';
      break;
    }
    case Value::Kind::kOther:
      out += "(not plain data)";
      break;
  }
}

}  // namespace

std::string show(const Value& value, std::size_t limit) {
  std::string out;
  show_to(out, value, limit);
  return shorten(out, limit, " ... (cut)");
}

}  // namespace leap::verify
