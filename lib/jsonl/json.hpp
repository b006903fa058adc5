/// Ordered JSON for records: members keep their order, numbers their value, token arrays their raw text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace leap {

/// Two kinds of values stay unparsed text (`is_raw`): arrays of plain numbers under the token keys
/// (`prompt_ids`, `completion_ids`, `logprobs`, `ref_logprobs`), and integers that do not fit 64 bits.
/// Everything else is an ordinary value. Use `numbers()` / `integers()` to read arrays that may be raw,
/// `raw()` to make one; `expand()` a part that has no fixed shape (a case's arguments, say) before walking
/// it.
using Json = nlohmann::ordered_json;

namespace jsonl {

/// Parses one JSON text. Throws RecordError when it is no JSON, not valid UTF-8, nested deeper than
/// kMaxDepth, or holds a number with fraction or exponent that overflows a double. A member given twice keeps
/// its first place and last value.
Json parse(std::string_view text);

/// The same, and the text must be an object.
Json parse_record(std::string_view line);

/// One line without the newline: compact, doubles in the shortest form that reads back to the same double.
/// UTF-8 is not escaped, but for what some readers take for line ends (U+0085, U+2028, U+2029). Throws
/// RecordError on NaN or infinity.
std::string dump(const Json& value);
void dump_to(std::string& out, const Json& value);

inline constexpr int kMaxDepth = 2000;

bool is_raw(const Json& value);
std::string_view raw_text(const Json& value);
/// A value that is written as `text`, which must be valid JSON.
Json raw(std::string text);

/// Parses every raw array inside `value` in place (integers beyond 64 bits stay raw).
void expand(Json& value);

/// Is it an array, parsed or raw?
bool is_array(const Json& value);

/// An array of numbers, raw or parsed; RecordError (without a field name) when it is not one.
std::vector<double> numbers(const Json& value);
std::vector<std::int64_t> integers(const Json& value);
/// Number of elements, without converting them.
std::size_t array_size(const Json& value);

/// Raw arrays: ids as they are; log-probs with 6 decimals.
Json raw_ids(const std::vector<std::int64_t>& ids);
Json raw_logprobs(const std::vector<double>& logprobs);

}  // namespace jsonl
}  // namespace leap
