/// Values of a kernel's buffers and scalars: element types, and generators that depend on a key alone.
///
/// Theory. Element i of a buffer is a function of the buffer's key and i (base/random.hpp), so inputs are the
/// same at any number of jobs. A key follows from run seed, problem, trial and argument. Reals are drawn in
/// double and rounded once, to nearest even: uniform a + (b - a) u; normal by Box and Muller, two elements
/// from two uniforms; integers the high half of the product of 64 bits and the range; a permutation by Fisher
/// and Yates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jsonl/json.hpp"
#include "verify/kernel_sizes.hpp"

namespace leap::verify::kernel {

enum class Dtype { kFloat32, kFloat16, kBfloat16, kFloat64, kInt32, kInt64, kUint8, kBool };

/// "float32" ..; nothing for an unknown name.
std::optional<Dtype> dtype_of(std::string_view name);
std::size_t size_of(Dtype type);
bool is_float(Dtype type);

/// The bits of a 16-bit float with `mantissa` bits behind the point (10: float16, 7: bfloat16), to nearest
/// even.
std::uint16_t round_to_16(double value, int mantissa);
/// The element at `at`, exactly (an int64 may lose bits: see `integer_at`).
double number_at(Dtype type, const char* at);
std::int64_t integer_at(Dtype type, const char* at);
/// Writes `value`, rounded and kept in the type's range.
void put_number(Dtype type, double value, char* at);
void put_integer(Dtype type, std::int64_t value, char* at);

/// How an argument's values come about.
class Generator {
 public:
  /// Of the field `where`; null or absent (nullptr) is the type's default. RecordError for an unknown one.
  Generator(const Json* given, Dtype type, const Sizes& known, const std::string& where);

  /// `count` elements, dense. RecordError where bounds make no range.
  std::string make(std::uint64_t key, std::size_t count, const Sizes& sizes) const;

 private:
  enum class Kind { kUniform, kNormal, kIntegers, kChoice, kPermutation, kList };
  /// A number or an expression of sizes.
  struct Bound {
    double number = 0;
    std::optional<Expression> expression;
    double value(const Sizes& sizes) const;
  };

  Bound bound_of(const Json& value, const Sizes& known, const std::string& where) const;

  Dtype type_;
  Kind kind_ = Kind::kNormal;
  std::vector<Bound> bounds_;     ///< of uniform and normal
  std::vector<Expression> ends_;  ///< of integers
  std::string elements_;          ///< of choice and list, as they are in memory
  bool sorted_ = false;
  std::string where_;
};

}  // namespace leap::verify::kernel
