#include "cudacpu/needs.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "cudacpu/tokens.hpp"

namespace leap::cudacpu {
namespace {

constexpr std::size_t kNone = Tokens::kNone;
using Names = std::set<std::string_view>;

// Of namespace std, what the headers that are always ready have.
const Names kFewNames = {"abs",
                         "acos",
                         "asin",
                         "atan",
                         "atan2",
                         "cbrt",
                         "ceil",
                         "clamp",
                         "copysign",
                         "cos",
                         "cosh",
                         "decay_t",
                         "enable_if",
                         "enable_if_t",
                         "erf",
                         "erfc",
                         "exit",
                         "exp",
                         "exp2",
                         "expm1",
                         "fabs",
                         "fill",
                         "fill_n",
                         "floor",
                         "fma",
                         "fmax",
                         "fmin",
                         "fmod",
                         "forward",
                         "hypot",
                         "int16_t",
                         "int32_t",
                         "int64_t",
                         "int8_t",
                         "is_same",
                         "is_same_v",
                         "isfinite",
                         "isinf",
                         "isnan",
                         "ldexp",
                         "lgamma",
                         "log",
                         "log10",
                         "log1p",
                         "log2",
                         "make_pair",
                         "max",
                         "memcpy",
                         "memset",
                         "min",
                         "move",
                         "nearbyint",
                         "numeric_limits",
                         "pair",
                         "pow",
                         "printf",
                         "ptrdiff_t",
                         "rint",
                         "round",
                         "sin",
                         "sinh",
                         "size_t",
                         "sort",
                         "sqrt",
                         "swap",
                         "tan",
                         "tanh",
                         "tgamma",
                         "trunc",
                         "uint16_t",
                         "uint32_t",
                         "uint64_t",
                         "uint8_t",
                         "uintptr_t",
                         "conditional",
                         "conditional_t"};
const Names kFewHeaders = {"algorithm",
                           "assert.h",
                           "cassert",
                           "cfloat",
                           "climits",
                           "cmath",
                           "cooperative_groups.h",
                           "cooperative_groups/reduce.h",
                           "cooperative_groups/scan.h",
                           "cooperative_groups/memcpy_async.h",
                           "cstddef",
                           "cstdint",
                           "cstdio",
                           "cstdlib",
                           "cstring",
                           "cuda.h",
                           "cuda_bf16.h",
                           "cuda_fp16.h",
                           "cuda_pipeline.h",
                           "cuda_runtime.h",
                           "cuda_runtime_api.h",
                           "curand_kernel.h",
                           "device_launch_parameters.h",
                           "float.h",
                           "limits",
                           "limits.h",
                           "math.h",
                           "math_constants.h",
                           "mma.h",
                           "stddef.h",
                           "stdint.h",
                           "stdio.h",
                           "stdlib.h",
                           "string.h",
                           "type_traits",
                           "utility"};

// Read anew in a moment, by those who include them, with the names that they bring.
const std::map<std::string_view, Names> kLightHeaders = {
    {"array", {"array"}},
    {"atomic", {"atomic"}},
    {"chrono", {"chrono"}},
    {"ctime", {}},
    {"time.h", {}},
    {"numeric", {"accumulate", "gcd", "inner_product", "iota", "lcm", "partial_sum", "reduce"}},
    {"tuple", {"make_tuple", "tie", "tuple"}},
    {"vector", {"vector"}}};

// Host code of the standard library that is found in kernels.
const Names kHostWords = {"rand",        "srand",   "fprintf",    "fopen", "puts",   "putchar",
                          "exit",        "getenv",  "time",       "sort",  "cout",   "accumulate",
                          "nth_element", "vector",  "map",        "list",  "string", "unordered_map",
                          "cerr",        "ostream", "stable_sort"};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view header_of(std::string_view include) {
  const std::size_t open = include.find_first_of("<\"");
  const std::size_t close = open == std::string_view::npos ? open : include.find_first_of(">\"", open + 1);
  return close == std::string_view::npos ? "" : include.substr(open + 1, close - open - 1);
}

/// Sorts a source's words by the side that they stand on. Anything out of the ordinary is `doubtful`.
class Sides {
 public:
  explicit Sides(std::string_view source) : t_(source) {
    for (std::size_t i = 0; i < t_.size() && !doubtful_; ++i) i = at_file(i);
    for (Names* used : {&in_host_, &in_device_}) expand(*used);
  }

  bool doubtful() const {
    const auto meet = [](const Names& a, const Names& b) {
      return std::any_of(a.begin(), a.end(), [&](std::string_view name) { return b.count(name) > 0; });
    };
    return doubtful_ || meet(host_names_, in_device_) || meet(device_names_, in_host_) ||
           meet(kHostWords, in_device_);
  }

 private:
  std::size_t doubt() {
    doubtful_ = true;
    return t_.size();
  }

  /// What begins at namespace scope; gives its last token.
  std::size_t at_file(std::size_t i) {
    const Token& token = t_[i];
    if (token.kind == TokenKind::kSpace || token.kind == TokenKind::kInclude ||
        token.kind == TokenKind::kPragma || token.is(";") || token.is("}"))
      return i;
    return token.directive ? directive(i) : declaration(i);
  }

  /// The words of a macro are used where its name is.
  std::size_t directive(std::size_t i) {
    const int number = t_[i].directive;
    Names words;
    std::string_view name;
    std::size_t last = i;
    for (bool defines = false; i < t_.size() && t_[i].directive == number; last = i++) {
      if (t_[i].kind != TokenKind::kWord) continue;
      if (is_one_of(t_[i].text, {"__device__", "__global__", "__host__", "__shared__"})) return doubt();
      if (defines && name.empty())
        name = t_[i].text;
      else
        words.insert(t_[i].text);
      defines = defines || t_[i].is("define");
    }
    if (!name.empty()) macros_[name].insert(words.begin(), words.end());
    return last;
  }

  void expand(Names& used) const {
    std::vector<std::string_view> left(used.begin(), used.end());
    while (!left.empty()) {
      const auto macro = macros_.find(left.back());
      left.pop_back();
      if (macro == macros_.end()) continue;
      for (const std::string_view word : macro->second)
        if (used.insert(word).second) left.push_back(word);
    }
  }

  std::size_t declaration(std::size_t begin) {
    bool device = false, host = false, global = false, plain = false, type = false, fixed = false,
         pointer = false;
    for (std::size_t i = begin; i != kNone && i < t_.size(); i = t_.next(i)) {
      const Token& token = t_[i];
      if (token.directive) return doubt();
      if (token.is("const")) fixed = true;
      if (token.is("*")) pointer = true;
      if (token.is("__global__")) global = true;
      if (token.is("__device__")) device = true;
      if (token.is("__host__")) host = true;
      if (is_one_of(token.text, {"__constant__", "__managed__", "__shared__"})) device = true;
      if (token.is("constexpr")) plain = true;
      if (is_one_of(token.text, {"using", "typedef", "static_assert", "enum"})) type = true;
      if (is_one_of(token.text, {"operator", "class", "union", "friend", "auto", "decltype", "asm"}))
        return doubt();
      if (token.is("struct")) return structure(i);
      if (token.is("template")) {
        i = parameters(t_.next(i));
        if (i == kNone) return doubt();
      } else if (token.is("namespace") ||
                 (token.is("extern") &&
                  t_[t_.next(i) == kNone ? i : t_.next(i)].kind == TokenKind::kString)) {
        // Their contents are at namespace scope too.
        while (i != kNone && !t_.is(i, "{") && !t_.is(i, ";") && !t_.is(i, "=")) {
          if (t_[i].kind == TokenKind::kWord && t_.is(i, "__global__")) return doubt();
          i = t_.next(i);
          if (token.is("extern") && i != kNone && t_[i].kind == TokenKind::kWord) return t_.previous(i);
        }
        return t_.is(i, "{") ? i : doubt();
      } else if (token.is("__launch_bounds__") || token.is("__align__") || token.is("__attribute__")) {
        const std::size_t open = t_.next(i);
        i = t_.is(open, "(") ? t_.match(open) : kNone;
        if (i == kNone) return doubt();
      } else if (type) {
        if (token.is(";")) return i;
      } else if (token.is("(")) {
        return function(begin, i, global, device, host);
      } else if (token.is("=") || token.is("{") || token.is("[") || token.is(";") || token.is(",")) {
        return variable(i, device, plain || (fixed && !pointer && !any_word(i, t_.size())));
      }
    }
    return doubt();
  }

  /// Of a template: its closing >.
  std::size_t parameters(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i != kNone; i = t_.next(i)) {
      if (t_.is(i, "<")) ++depth;
      if (t_.is(i, ">")) --depth;
      if (t_.is(i, "(") || t_.is(i, "{") || t_.is(i, ";")) return kNone;
      if (depth == 0) return i;
    }
    return kNone;
  }

  std::size_t function(std::size_t begin, std::size_t open, bool global, bool device, bool host) {
    const std::size_t name = t_.previous(open), close = t_.match(open);
    if (name == kNone || t_[name].kind != TokenKind::kWord || close == kNone) return doubt();
    // A kernel is `void` and is called in one way.
    if (global && !t_.is(t_.previous(name), "void")) {
      const std::size_t before = t_.previous(name);
      if (!t_.is(before, ")")) return doubt();
      const std::size_t bounds = t_.match_back(before);
      if (bounds == kNone || !t_.is(t_.previous(t_.previous(bounds)), "void")) return doubt();
    }
    const bool both = device && host;
    if (global)
      kernels_.insert(t_[name].text);
    else if (!both)
      (device ? device_names_ : host_names_).insert(t_[name].text);
    std::size_t end = t_.next(close);
    while (end != kNone && is_one_of(t_[end].text, {"noexcept", "const"})) end = t_.next(end);
    if (end == kNone) return doubt();
    const std::size_t last = t_.is(end, "{") ? t_.match(end) : t_.is(end, ";") ? end : kNone;
    if (last == kNone) return doubt();
    words(begin, last, global || device, !global && (!device || host), global || device, name);
    return last;
  }

  /// Words of [begin, end) other than the function's own name.
  void words(std::size_t begin, std::size_t end, bool in_device, bool in_host, bool may_share,
             std::size_t name) {
    for (std::size_t i = begin; i < end; ++i) {
      const Token& token = t_[i];
      if (token.directive && t_.is(i, "define")) doubt();
      if (token.kind != TokenKind::kWord || i == name || token.directive) continue;
      if (in_device) in_device_.insert(token.text);
      if (in_host) in_host_.insert(token.text);
      if (token.is("__shared__") && !may_share) doubt();
      if (token.is("__shared__")) initialised(i, end);
      // Device code in lambdas of the host's; classes and functions in functions.
      if (i > name && is_one_of(token.text, {"__device__", "__global__", "__host__"})) doubt();
      if (kernels_.count(token.text) || (!in_device && t_.is(t_.next(i), "<<<"))) {
        // Only to be launched.
        std::size_t after = t_.next(i);
        if (t_.is(after, "<")) {
          const std::size_t close = parameters_of_call(after);
          for (std::size_t k = after; k < close; ++k)
            if (t_[k].kind == TokenKind::kWord) in_device_.insert(t_[k].text);
          after = t_.next(close);
        }
        if (!t_.is(after, "<<<")) doubt();
      }
      if (in_device && token.is("static")) doubt();
    }
  }

  std::size_t parameters_of_call(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i != kNone; i = t_.next(i)) {
      if (t_.is(i, "<")) ++depth;
      if (t_.is(i, ">") && --depth == 0) return i;
      if (t_.is(i, ";") || t_.is(i, "{")) break;
    }
    return open;
  }

  /// A __shared__ variable with a value, or of a class that may have a constructor.
  void initialised(std::size_t i, std::size_t end) {
    for (; i != kNone && i < end && !t_.is(i, ";"); i = t_.next(i))
      if (t_.is(i, "=") || t_.is(i, "{")) doubt();
  }

  /// `constant`: device code may read it wherever it is.
  std::size_t variable(std::size_t i, bool device, bool constant) {
    const std::size_t name = t_.previous(i);
    if (name == kNone || t_[name].kind != TokenKind::kWord) return doubt();
    if (!device && !constant) host_names_.insert(t_[name].text);
    for (; i != kNone && !t_.is(i, ";"); i = t_.next(i)) {
      if (t_.is(i, "[") || t_.is(i, "{")) {
        // A value worked out when the program starts is for the host only.
        const std::size_t close = t_.match(i);
        if (close == kNone || (device && t_.is(i, "{") && any_word(i, close))) return doubt();
        i = close;
      } else if (t_.is(i, "(") || (device && t_.is(i, "=") && any_word(i, t_.size()))) {
        return doubt();
      } else if (t_.is(i, ",")) {
        const std::size_t next = t_.next(i);
        if (next == kNone || t_[next].kind != TokenKind::kWord) return doubt();
        if (!device && !constant) host_names_.insert(t_[next].text);
      } else if (t_[i].kind == TokenKind::kWord) {
        in_host_.insert(t_[i].text);
      }
    }
    return i == kNone ? doubt() : i;
  }

  bool any_word(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end && !t_.is(i, ";"); ++i)
      if (t_[i].kind == TokenKind::kWord) return true;
    return false;
  }

  /// Of data alone.
  std::size_t structure(std::size_t i) {
    std::size_t open = i;
    while (open != kNone && !t_.is(open, "{") && !t_.is(open, ";") && !t_.is(open, ":")) open = t_.next(open);
    const std::size_t close = t_.is(open, "{") ? t_.match(open) : kNone;
    if (close == kNone) return doubt();
    for (std::size_t k = open + 1; k < close; ++k)
      if (t_.is(k, "(") || t_.is(k, "=") || t_.is(k, "{") || t_.is(k, "static")) return doubt();
    const std::size_t end = t_.next(close);
    return t_.is(end, ";") ? end : doubt();
  }

  Tokens t_;
  bool doubtful_ = false;
  Names host_names_, device_names_, kernels_;  ///< declared
  Names in_host_, in_device_;                  ///< used
  std::map<std::string_view, Names> macros_;   ///< and the words of each
};

}  // namespace

bool needs_all_headers(std::string_view source) {
  const Tokens t(source);
  Names known = kFewNames;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i].kind == TokenKind::kInclude) {
      const std::string_view header = header_of(t[i].text);
      if (const auto light = kLightHeaders.find(header); light != kLightHeaders.end())
        known.insert(light->second.begin(), light->second.end());
      else if (!kFewHeaders.count(header) && header.substr(0, 4) != "cub/")
        return true;
    }
    if (!t[i].is("std")) continue;
    const std::size_t colons = t.next(i), name = t.is(colons, "::") ? t.next(colons) : kNone;
    if (name == kNone || !known.count(t[name].text)) return true;
  }
  return false;
}

bool needs_front_end(std::string_view source) {
  return Sides(source).doubtful();
}

}  // namespace leap::cudacpu
