/// Plain data on its way between processes: what a call was given and what it returned. The format is
/// Python's marshal, version 2, of None, bool, int, float, str, list and dict alone; the reader trusts
/// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jsonl/json.hpp"

namespace leap::verify {

struct Value {
  enum class Kind { kNull, kBool, kInt, kBig, kFloat, kText, kList, kDict, kOther };

  Kind kind = Kind::kNull;
  std::int64_t integer = 0;           ///< kInt, kBool
  double number = 0;                  ///< kFloat
  std::string text;                   ///< kText: bytes, mostly UTF-8
  bool negative = false;              ///< kBig
  std::vector<std::uint16_t> digits;  ///< kBig: base 2^15, lowest first, no leading zero, beyond 64 bits
  std::vector<Value> items;           ///< kList; kDict: key, value, key, value ..
};

/// RecordError when `bytes` are no plain data, or more than `max_nodes` values: a hostile program must not
/// fill our memory with what it answers.
Value read_marshal(std::string_view bytes, std::size_t max_nodes = 1000000);

/// No fewer than the values that `value` consists of, keys included.
std::size_t nodes_of(const Json& value);

/// The bytes of a JSON value (objects become dicts with string keys). Integers of any size are kept.
std::string write_marshal(const Json& value);

/// Is `got` the expected value? bool is not int, 1.0 equals 1, nan equals nothing; floats within
/// tolerance * max(1, |want|); an integer key equals the string of its digits, since JSON has no other.
bool same(const Value& got, const Json& want, double tolerance);

/// The value as JSON-like text of about `limit` bytes, cut where it is longer.
std::string show(const Value& value, std::size_t limit);

}  // namespace leap::verify
