#include "verify/kernel_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "base/random.hpp"
#include "records/records.hpp"

namespace leap::verify::kernel {
namespace {

template <class T>
T load(const char* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

template <class T>
void store(T value, char* at) {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
T clamped(double value) {
  if (std::isnan(value)) return 0;
  value = std::nearbyint(value);
  if (value < static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1))
    return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class T>
T clamped(std::int64_t value) {
  return static_cast<T>(
      std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

/// The value of 16 bits with `mantissa` bits behind the point.
double number_of_16(std::uint16_t bits, int mantissa) {
  const int exponents = (1 << (15 - mantissa)) - 1, bias = exponents / 2;
  const int exponent = bits >> mantissa & exponents, fraction = bits & ((1 << mantissa) - 1);
  double value = 0;
  if (exponent == exponents)
    value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, 1 - bias - mantissa);
  else
    value = std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
  return bits & 0x8000 ? -value : value;
}

constexpr std::pair<const char*, Dtype> kNames[] = {
    {"float32", Dtype::kFloat32}, {"float16", Dtype::kFloat16}, {"bfloat16", Dtype::kBfloat16},
    {"float64", Dtype::kFloat64}, {"int32", Dtype::kInt32},     {"int64", Dtype::kInt64},
    {"uint8", Dtype::kUint8},     {"bool", Dtype::kBool}};

/// A draw below `range` (0: of all 64 bits).
std::uint64_t below(std::uint64_t range, std::uint64_t key, std::uint64_t position) {
  const std::uint64_t bits = random_bits(key, position);
  if (range == 0) return bits;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
}

template <class T>
void sort_as(std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::sort(values.begin(), values.end());
  std::memcpy(bytes.data(), values.data(), bytes.size());
}

void sort_elements(Dtype type, std::string& bytes) {
  switch (type) {
    case Dtype::kFloat32:
      return sort_as<float>(bytes);
    case Dtype::kFloat64:
      return sort_as<double>(bytes);
    case Dtype::kInt32:
      return sort_as<std::int32_t>(bytes);
    case Dtype::kInt64:
      return sort_as<std::int64_t>(bytes);
    case Dtype::kUint8:
    case Dtype::kBool:
      return sort_as<unsigned char>(bytes);
    default:
      break;
  }
  std::vector<std::uint16_t> values(bytes.size() / 2);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::stable_sort(values.begin(), values.end(), [&](std::uint16_t a, std::uint16_t b) {
    return number_at(type, reinterpret_cast<const char*>(&a)) <
           number_at(type, reinterpret_cast<const char*>(&b));
  });
  std::memcpy(bytes.data(), values.data(), bytes.size());
}

}  // namespace

std::optional<Dtype> dtype_of(std::string_view name) {
  for (const auto& [known, type] : kNames)
    if (name == known) return type;
  return {};
}

std::size_t size_of(Dtype type) {
  switch (type) {
    case Dtype::kFloat32:
    case Dtype::kInt32:
      return 4;
    case Dtype::kFloat64:
    case Dtype::kInt64:
      return 8;
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
      return 2;
    default:
      return 1;
  }
}

bool is_float(Dtype type) {
  return type == Dtype::kFloat32 || type == Dtype::kFloat16 || type == Dtype::kBfloat16 ||
         type == Dtype::kFloat64;
}

std::uint16_t round_to_16(double value, int mantissa) {
  const int exponents = (1 << (15 - mantissa)) - 1, bias = exponents / 2;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const auto infinity = static_cast<std::uint16_t>(exponents << mantissa);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1 << (mantissa - 1));
  value = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  // The spacing of the type's numbers around this one; below the smallest normal it stays the same.
  const int step = std::max(exponent - 1, 1 - bias) - mantissa;
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(value, -step)));
  // Bits of a float in order are consecutive integers, so a carry goes into the exponent.
  const std::uint32_t bits = units + (static_cast<std::uint32_t>(step + mantissa + bias - 1) << mantissa);
  if (exponent > bias + 1 || bits >= infinity) return sign | infinity;
  return static_cast<std::uint16_t>(sign | bits);
}

double number_at(Dtype type, const char* at) {
  switch (type) {
    case Dtype::kFloat32:
      return load<float>(at);
    case Dtype::kFloat64:
      return load<double>(at);
    case Dtype::kFloat16:
      return number_of_16(load<std::uint16_t>(at), 10);
    case Dtype::kBfloat16:
      return number_of_16(load<std::uint16_t>(at), 7);
    default:
      return static_cast<double>(integer_at(type, at));
  }
}

std::int64_t integer_at(Dtype type, const char* at) {
  switch (type) {
    case Dtype::kInt32:
      return load<std::int32_t>(at);
    case Dtype::kInt64:
      return load<std::int64_t>(at);
    default:
      return static_cast<unsigned char>(*at);
  }
}

void put_number(Dtype type, double value, char* at) {
  switch (type) {
    case Dtype::kFloat32:
      return store(static_cast<float>(value), at);
    case Dtype::kFloat64:
      return store(value, at);
    case Dtype::kFloat16:
      return store(round_to_16(value, 10), at);
    case Dtype::kBfloat16:
      return store(round_to_16(value, 7), at);
    case Dtype::kInt32:
      return store(clamped<std::int32_t>(value), at);
    case Dtype::kInt64:
      return store(clamped<std::int64_t>(value), at);
    case Dtype::kUint8:
      return store(clamped<unsigned char>(value), at);
    case Dtype::kBool:
      return store(static_cast<unsigned char>(value != 0), at);
  }
}

void put_integer(Dtype type, std::int64_t value, char* at) {
  switch (type) {
    case Dtype::kInt32:
      return store(clamped<std::int32_t>(value), at);
    case Dtype::kInt64:
      return store(value, at);
    case Dtype::kUint8:
      return store(clamped<unsigned char>(value), at);
    case Dtype::kBool:
      return store(static_cast<unsigned char>(value != 0), at);
    default:
      return put_number(type, static_cast<double>(value), at);
  }
}

double Generator::Bound::value(const Sizes& sizes) const {
  return expression ? static_cast<double>(expression->value(sizes)) : number;
}

Generator::Bound Generator::bound_of(const Json& value, const Sizes& known, const std::string& where) const {
  Bound out;
  if (value.is_string()) {
    out.expression.emplace(value, known, where);
  } else {
    if (!value.is_number()) throw RecordError(where + ": must be a number or an expression of sizes");
    out.number = value.get<double>();
  }
  return out;
}

Generator::Generator(const Json* given, Dtype type, const Sizes& known, const std::string& where)
    : type_(type), where_(where) {
  Json values = given && !given->is_null() ? *given : Json::object();
  if (!values.is_object()) throw RecordError(where + ": must be an object, e.g. {\"normal\":[0,1]}");
  if (const Json* sorted = records::find(values, "sorted")) {
    if (!sorted->is_boolean()) throw RecordError(where + ".sorted: must be true or false");
    sorted_ = sorted->get<bool>();
    values.erase("sorted");
  }
  if (values.empty()) {
    if (is_float(type)) values["normal"] = {0, 1};
    if (type == Dtype::kInt32 || type == Dtype::kInt64) values["integers"] = {-100, 100};
    if (type == Dtype::kUint8) values["integers"] = {0, 255};
    if (type == Dtype::kBool) values["choice"] = {0, 1};
  }
  if (values.size() != 1) throw RecordError(where + ": must name one kind of values");
  const std::string kind = values.begin().key(), inside = where + "." + kind;
  Json& body = values.begin().value();
  jsonl::expand(body);
  auto pair = [&] {
    if (!body.is_array() || body.size() != 2) throw RecordError(inside + ": must be an array of two bounds");
  };
  if (kind == "uniform" || kind == "normal") {
    pair();
    kind_ = kind == "uniform" ? Kind::kUniform : Kind::kNormal;
    for (const Json& one : body) bounds_.push_back(bound_of(one, known, inside));
  } else if (kind == "integers") {
    pair();
    kind_ = Kind::kIntegers;
    for (const Json& one : body) ends_.emplace_back(one, known, inside);
  } else if (kind == "constant" && body.is_string()) {
    kind_ = Kind::kIntegers;
    ends_.assign(2, Expression(body, known, inside));
  } else if (kind == "permutation") {
    if (body != true) throw RecordError(inside + ": must be true");
    kind_ = Kind::kPermutation;
  } else if (kind == "constant" || kind == "choice" || kind == "list") {
    kind_ = kind == "choice" ? Kind::kChoice : Kind::kList;
    if (kind == "constant") body = Json::array({body});
    if (!body.is_array() || body.empty()) throw RecordError(inside + ": must be an array of numbers");
    elements_.resize(body.size() * size_of(type));
    char* at = elements_.data();
    for (const Json& one : body) {
      if (one.is_number_integer())
        put_integer(type, one.get<std::int64_t>(), at);
      else if (one.is_number())
        put_number(type, one.get<double>(), at);
      else if (one.is_boolean())
        put_integer(type, one.get<bool>() ? 1 : 0, at);
      else
        throw RecordError(inside + ": must hold numbers");
      at += size_of(type);
    }
  } else {
    throw RecordError(
        inside +
        ": not a kind of values; use uniform, normal, integers, constant, choice, permutation or list");
  }
}

std::string Generator::make(std::uint64_t key, std::size_t count, const Sizes& sizes) const {
  const std::size_t width = size_of(type_);
  std::string out(count * width, '\0');
  char* at = out.data();
  if (kind_ == Kind::kUniform || kind_ == Kind::kNormal) {
    const double a = bounds_[0].value(sizes), b = bounds_[1].value(sizes);
    if (kind_ == Kind::kUniform && !(a < b)) throw RecordError(where_ + ".uniform: the bounds hold nothing");
    double other = 0;
    for (std::size_t i = 0; i < count; ++i, at += width) {
      double value = 0;
      if (kind_ == Kind::kUniform) {
        value = std::min(a + (b - a) * uniform(key, i), std::nextafter(b, a));
      } else if (i % 2 == 0) {
        const double radius = std::sqrt(-2 * std::log1p(-uniform(key, i)));
        const double angle = 2 * M_PI * uniform(key, i + 1);
        value = a + b * radius * std::cos(angle);
        other = a + b * radius * std::sin(angle);
      } else {
        value = other;
      }
      put_number(type_, value, at);
    }
  } else if (kind_ == Kind::kIntegers) {
    const std::int64_t low = ends_[0].value(sizes), high = ends_[1].value(sizes);
    if (low > high && count > 0) throw RecordError(where_ + ".integers: the bounds hold nothing");
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    for (std::size_t i = 0; i < count; ++i, at += width)
      put_integer(type_, static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below(range, key, i)),
                  at);
  } else if (kind_ == Kind::kPermutation) {
    std::vector<std::int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[below(i, key, i)]);
    for (std::size_t i = 0; i < count; ++i, at += width) put_integer(type_, order[i], at);
  } else {
    const std::size_t choices = elements_.size() / width;
    for (std::size_t i = 0; i < count; ++i, at += width) {
      const std::size_t which = kind_ == Kind::kList ? i % choices : below(choices, key, i);
      std::memcpy(at, elements_.data() + which * width, width);
    }
  }
  if (sorted_) sort_elements(type_, out);
  return out;
}

}  // namespace leap::verify::kernel
