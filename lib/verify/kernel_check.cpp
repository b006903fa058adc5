#include "verify/kernel_check.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "records/records.hpp"

namespace leap::verify::kernel {
namespace {

using records::find;
using records::text_of;

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // of a buffer
constexpr std::size_t kMaxArguments = 64, kMaxSizes = 1000;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw RecordError(where + ": " + what);
}

const Json& needed(const Json& object, const char* name, const std::string& where) {
  const Json* found = find(object, name);
  if (!found || found->is_null()) fail(where + "." + name, "missing");
  return *found;
}

std::string needed_text(const Json& object, const char* name, const std::string& where) {
  const Json& value = needed(object, name, where);
  if (!value.is_string() || strip(text_of(object, name)).empty())
    fail(where + "." + name, "must be a text that is not empty");
  return value.get<std::string>();
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

struct Parameter {
  std::string type;  ///< words in order, without const and __restrict__; "*" at the end for a pointer
  std::string name;
  bool pointee_const = false;
};

/// One parameter: `const float* __restrict__ x`.
Parameter read_parameter(std::string_view text, const std::string& where) {
  Parameter out;
  std::vector<std::string> words;
  bool pointer = false;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
    } else if (text[i] == '*') {
      if (pointer) fail(where, "`" + std::string(strip(text)) + "`: a pointer to a pointer");
      pointer = true;
      ++i;
    } else if (is_word(text[i]) || text[i] == ':') {
      std::size_t end = i;
      while (end < text.size() && (is_word(text[end]) || text[end] == ':')) ++end;
      const std::string word(text.substr(i, end - i));
      i = end;
      if (word == "__restrict__" || word == "__restrict" || word == "restrict") continue;
      if (word == "const") {
        out.pointee_const = out.pointee_const || !pointer;
        continue;
      }
      words.push_back(word.rfind("std::", 0) == 0 ? word.substr(5) : word);
    } else {
      fail(where, "`" + std::string(strip(text)) + "` is no parameter of a plain type");
    }
  }
  static const char* const kTypeWords[] = {"unsigned", "signed", "long",  "short", "int",
                                           "char",     "double", "float", "bool"};
  const bool last_is_type = !words.empty() && std::find(std::begin(kTypeWords), std::end(kTypeWords),
                                                        words.back()) != std::end(kTypeWords);
  if (words.size() < 2 || last_is_type)
    fail(where, "`" + std::string(strip(text)) + "` needs a type and a name");
  out.name = words.back();
  words.pop_back();
  for (const std::string& word : words) out.type += (out.type.empty() ? "" : " ") + word;
  if (pointer) out.type += "*";
  return out;
}

std::vector<Parameter> read_signature(const std::string& text, const std::string& where) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open)
    fail(where, "must read `void solve(..)`");
  std::string head(strip(std::string_view(text).substr(0, open)));
  if (head.rfind("extern \"C\"", 0) == 0) head = strip(std::string_view(head).substr(10));
  std::string_view rest(head);
  if (rest.substr(0, 4) != "void" || strip(rest.substr(4)) != "solve" ||
      !std::isspace(static_cast<unsigned char>(head[4])))
    fail(where, "must read `void solve(..)`");
  std::vector<Parameter> out;
  std::string_view inside = std::string_view(text).substr(open + 1, close - open - 1);
  if (strip(inside).empty()) return out;
  while (true) {
    const std::size_t comma = inside.find(',');
    out.push_back(read_parameter(inside.substr(0, comma), where));
    if (comma == std::string_view::npos) return out;
    inside.remove_prefix(comma + 1);
  }
}

/// The element type of a pointer's or value's C++ type; nothing when there is none.
std::optional<Dtype> type_of_cpp(std::string type) {
  if (!type.empty() && type.back() == '*') type.pop_back();
  static const std::pair<const char*, Dtype> kKnown[] = {{"float", Dtype::kFloat32},
                                                         {"__half", Dtype::kFloat16},
                                                         {"half", Dtype::kFloat16},
                                                         {"__nv_bfloat16", Dtype::kBfloat16},
                                                         {"nv_bfloat16", Dtype::kBfloat16},
                                                         {"double", Dtype::kFloat64},
                                                         {"int", Dtype::kInt32},
                                                         {"int32_t", Dtype::kInt32},
                                                         {"long long", Dtype::kInt64},
                                                         {"long long int", Dtype::kInt64},
                                                         {"unsigned char", Dtype::kUint8},
                                                         {"uint8_t", Dtype::kUint8},
                                                         {"bool", Dtype::kBool}};
  for (const auto& [name, known] : kKnown)
    if (type == name) return known;
  return {};
}

/// Of a parameter passed by value; more types than elements have.
std::optional<Dtype> type_of_value(const std::string& type) {
  if (const auto known = type_of_cpp(type)) return known;
  static const char* const kWide[] = {"long",
                                      "long int",
                                      "int64_t",
                                      "unsigned long",
                                      "unsigned long long",
                                      "unsigned long int",
                                      "unsigned long long int",
                                      "uint64_t",
                                      "size_t",
                                      "ptrdiff_t",
                                      "ssize_t",
                                      "unsigned",
                                      "unsigned int",
                                      "uint32_t"};
  static const char* const kNarrow[] = {"short",    "short int", "unsigned short", "int16_t",
                                        "uint16_t", "char",      "signed char",    "int8_t"};
  if (std::find(std::begin(kWide), std::end(kWide), type) != std::end(kWide)) return Dtype::kInt64;
  if (std::find(std::begin(kNarrow), std::end(kNarrow), type) != std::end(kNarrow)) return Dtype::kInt32;
  return {};
}

Role role_of(const std::string& text, const std::string& where) {
  static const std::pair<const char*, Role> kRoles[] = {{"in", Role::kIn},
                                                        {"out", Role::kOut},
                                                        {"inout", Role::kInout},
                                                        {"size", Role::kSize},
                                                        {"scalar", Role::kScalar}};
  for (const auto& [name, role] : kRoles)
    if (text == name) return role;
  fail(where, "must be in, out, inout, size or scalar");
}

Argument read_argument(const Json& json, const Parameter& parameter, const Sizes& known,
                       const std::string& where) {
  if (!json.is_object()) fail(where, "must be an object");
  Argument out;
  out.name = needed_text(json, "name", where);
  out.role = role_of(needed_text(json, "role", where), where + ".role");
  out.cpp_type = parameter.type;
  const bool pointer = parameter.type.back() == '*';
  const std::string given = "`" + parameter.type + " " + parameter.name + "`";
  if (pointer != out.is_buffer())
    fail(where + ".role",
         given + (pointer ? " is a pointer: in, out or inout" : " is a value: size or scalar"));
  const auto type = pointer ? type_of_cpp(parameter.type) : type_of_value(parameter.type);
  if (!type) fail(where, given + " is of a type that cannot be passed");
  out.type = *type;
  const Json* dtype = find(json, "dtype");
  if (pointer || (dtype && !dtype->is_null())) {
    const std::string name = needed_text(json, "dtype", where);
    const auto named = dtype_of(name);
    if (!named) fail(where + ".dtype", "`" + name + "` is not a known type");
    if (pointer && *named != *type) fail(where + ".dtype", name + " is not the type of " + given);
  }
  if (out.role != Role::kIn && pointer && parameter.pointee_const)
    fail(where + ".role", given + " is a pointer to const: an input");
  if (pointer) {
    const Json& shape = needed(json, "shape", where);
    if (!shape.is_array()) fail(where + ".shape", "must be an array");
    for (const Json& extent : shape) out.shape.emplace_back(extent, known, where + ".shape");
  }
  if (out.role == Role::kSize &&
      std::none_of(known.begin(), known.end(), [&](const auto& size) { return size.first == out.name; }))
    fail(where + ".name", "`" + out.name + "` is in no binding of task.check.sizes");
  const Json* values = find(json, "values");
  if (out.role == Role::kOut || out.role == Role::kSize) {
    if (values && !values->is_null()) fail(where + ".values", "an out or a size has none");
  } else {
    out.values.emplace_back(values, out.type, known, where + ".values");
  }
  return out;
}

double tolerance_of(const Json& check, const char* name, double otherwise) {
  const Json* value = find(check, name);
  if (!value || value->is_null()) return otherwise;
  if (!value->is_number() || !(value->get<double>() >= 0))
    fail(std::string("task.check.") + name, "must be a number, 0 or more");
  return value->get<double>();
}

/// Every binding names the same sizes.
void require_same_names(const Sizes& one, const Sizes& other, const std::string& where) {
  for (const auto& [name, value] : one)
    if (std::none_of(other.begin(), other.end(),
                     [&, &n = name](const auto& size) { return size.first == n; }))
      fail(where + "." + name, "missing");
  if (one.size() != other.size()) fail(where, "must bind the same names as task.check.sizes[0]");
}

}  // namespace

std::size_t Check::trials() const {
  return std::max<std::size_t>(5, sizes.size() + 1) + 1;
}

const Sizes& Check::sizes_of_run(std::size_t run) const {
  return run + 1 == trials() ? benchmark : sizes[trial_of_run(run) % sizes.size()];
}

std::size_t Check::layout_of_run(std::size_t run) const {
  const Sizes& own = sizes_of_run(run);
  return static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), own) - sizes.begin());
}

std::vector<std::int64_t> shape_of(const Argument& argument, const Sizes& sizes) {
  std::vector<std::int64_t> out;
  std::size_t bytes = size_of(argument.type);
  for (const Expression& extent : argument.shape) {
    out.push_back(extent.value(sizes));
    const std::string where = "task.check.arguments, `" + argument.name + "`";
    if (out.back() < 0) fail(where, "the extent " + extent.text() + " is negative for " + words_of(sizes));
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(out.back()), &bytes) || bytes > kMaxBytes)
      fail(where, "larger than 1 GiB for " + words_of(sizes));
  }
  return out;
}

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::size_t out = 1;
  for (const std::int64_t extent : shape) out *= static_cast<std::size_t>(extent);
  return out;
}

namespace {

/// Of `sizes`, the one with the most bytes.
std::size_t largest_of(const Check& check) {
  std::size_t out = 0, most = 0;
  for (std::size_t s = 0; s < check.sizes.size(); ++s) {
    std::size_t bytes = 0;
    for (const Argument& argument : check.arguments)
      if (argument.is_buffer())
        bytes += count_of(shape_of(argument, check.sizes[s])) * size_of(argument.type);
    if (bytes > most) most = bytes, out = s;
  }
  return out;
}

}  // namespace

Check read_check(const Json& check) {
  const std::string where = "task.check";
  Check out;
  const Json& sizes = needed(check, "sizes", where);
  if (!sizes.is_array() || sizes.empty() || sizes.size() > kMaxSizes)
    fail(where + ".sizes", "must be an array of at least one binding");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string at = where + ".sizes[" + std::to_string(i) + "]";
    out.sizes.push_back(kernel::sizes_of(sizes[i], at));
    require_same_names(out.sizes[0], out.sizes[i], at);
  }
  const Json* benchmark = find(check, "benchmark_size");
  out.benchmark = benchmark && !benchmark->is_null() ? kernel::sizes_of(*benchmark, where + ".benchmark_size")
                                                     : out.sizes.back();
  require_same_names(out.sizes[0], out.benchmark, where + ".benchmark_size");
  // The order of names in a binding means nothing.
  for (Sizes* one : {&out.benchmark}) std::sort(one->begin(), one->end());
  for (Sizes& one : out.sizes) std::sort(one.begin(), one.end());

  out.signature = needed_text(check, "signature", where);
  const auto parameters = read_signature(out.signature, where + ".signature");
  const Json& arguments = needed(check, "arguments", where);
  if (!arguments.is_array() || arguments.size() > kMaxArguments)
    fail(where + ".arguments", "must be an array");
  if (arguments.size() != parameters.size())
    fail(where + ".arguments",
         "must have one for each of the " + std::to_string(parameters.size()) + " parameters");
  for (std::size_t i = 0; i < arguments.size(); ++i)
    out.arguments.push_back(read_argument(arguments[i], parameters[i], out.benchmark,
                                          where + ".arguments[" + std::to_string(i) + "]"));
  if (std::none_of(out.arguments.begin(), out.arguments.end(),
                   [](const Argument& a) { return a.is_output(); }))
    fail(where + ".arguments", "must have an out or inout");

  bool half = true;
  for (const Argument& argument : out.arguments)
    if (argument.is_output() && (argument.type == Dtype::kFloat32 || argument.type == Dtype::kFloat64))
      half = false;
  out.reference = needed_text(check, "reference", where);
  out.rtol = tolerance_of(check, "rtol", half ? 1e-2 : 1e-4);
  out.atol = tolerance_of(check, "atol", half ? 1e-2 : 1e-4);
  // Shapes hold for every size, or the problem is at fault.
  for (std::size_t t = 0; t < out.trials(); ++t)
    for (const Argument& argument : out.arguments) shape_of(argument, out.sizes_of_run(t));
  const std::size_t largest = largest_of(out);
  if (largest + out.sizes.size() + 1 >= out.trials()) out.once = largest;
  return out;
}

}  // namespace leap::verify::kernel
