// The source transform: kernels become functions that launch themselves, launches become calls, __shared__
// becomes memory of the block. Everything else is left to headers.
#include <algorithm>
#include <array>
#include <set>

#include "cudacpu/cudacpu.hpp"
#include "cudacpu/needs.hpp"
#include "cudacpu/ptx.hpp"
#include "cudacpu/tokens.hpp"

namespace leap::cudacpu {

// toolchain.cpp
bool is_known_header(std::string_view name);
std::string library_of(std::string_view name);

namespace {

constexpr std::size_t kNone = Tokens::kNone;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Translator {
 public:
  Translator(std::string_view source, const Profile& profile) : t_(source), profile_(profile) {}

  Translation run() {
    collect_kernels();
    for (std::size_t i = 0; i < t_.size(); ++i) {
      const Token& token = t_[i];
      if (token.dropped) continue;
      if (token.kind == TokenKind::kInclude) {
        include(i);
      } else if (token.kind == TokenKind::kPragma) {
        pragma(i);
      } else if (token.kind == TokenKind::kWord) {
        word(i);
      } else if (token.kind == TokenKind::kSymbol) {
        if (token.text == "<<<") launch(i);
        if (token.text == "#") branch(i);
        if (token.text == "{" && token.directive == 0) scopes_.push_back(scope_at(i));
        if (token.text == "}" && token.directive == 0 && !scopes_.empty()) scopes_.pop_back();
        if (token.text == "(") cast(i);
      }
    }
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.line < b.line; });
    return {t_.join(), findings_, false, device_functions_};
  }

 private:
  enum class Scope { kNamespace, kClass, kFunction };

  struct Definition {
    std::size_t name = kNone, open = kNone, close = kNone;  ///< of the parameters
    std::size_t end = kNone;                                ///< the body's { or the declaration's ;
    std::string bounds;
  };

  void find(int line, const char* status, std::string message) {
    findings_.push_back({line, status, std::move(message)});
  }

  // --- where things are
  // ---------------------------------------------------------------------------------------------
  Scope scope_at(std::size_t brace) const {
    for (std::size_t i = t_.previous(brace); i != kNone; i = t_.previous(i)) {
      const Token& token = t_[i];
      if (token.is(";") || token.is("{") || token.is("}") || token.directive) break;
      if (token.is(")")) return Scope::kFunction;
      if (token.is("namespace")) return Scope::kNamespace;
      if (token.kind == TokenKind::kString && t_.is(t_.previous(i), "extern")) return Scope::kNamespace;
      if (is_one_of(token.text, {"class", "struct", "union", "enum"})) return Scope::kClass;
    }
    return Scope::kFunction;
  }

  bool in_function() const {
    return std::find(scopes_.begin(), scopes_.end(), Scope::kFunction) != scopes_.end();
  }

  /// Every branch of an #if begins in the scope where the #if stands; after it, where the first one ended.
  void branch(std::size_t hash) {
    const std::size_t at = t_.next(hash);
    if (at == kNone || t_[at].directive != t_[hash].directive) return;
    const std::string_view name = t_[at].text;
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      branches_.push_back({scopes_, {}, false});
    } else if ((name == "else" || name == "elif") && !branches_.empty()) {
      if (!branches_.back().other) branches_.back().first_end = scopes_;
      branches_.back().other = true;
      scopes_ = branches_.back().begin;
    } else if (name == "endif" && !branches_.empty()) {
      if (branches_.back().other) scopes_ = branches_.back().first_end;
      branches_.pop_back();
    }
  }

  /// The function that __global__ at `at` declares.
  bool definition(std::size_t at, Definition& out) const {
    std::size_t open = kNone;
    for (std::size_t i = t_.next(at); i != kNone; i = t_.next(i)) {
      const Token& token = t_[i];
      if (token.directive != t_[at].directive) {
        if (t_[at].directive) return false;
        continue;
      }
      if (token.is("__launch_bounds__")) {
        const std::size_t paren = t_.next(i);
        const std::size_t end = t_.is(paren, "(") ? t_.match(paren) : kNone;
        if (end == kNone) return false;
        out.bounds = t_.text(paren + 1, end);
        i = end;
      } else if (is_one_of(token.text, {"__attribute__", "__declspec", "noexcept", "alignas", "decltype",
                                        "__maxnreg__", "__cluster_dims__", "__block_size__"})) {
        const std::size_t paren = t_.next(i);
        if (t_.is(paren, "(")) i = t_.match(paren);
        if (i == kNone) return false;
      } else if (token.is("(")) {
        open = i;
        i = t_.match(i);
        if (i == kNone) return false;
        out.close = i;
      } else if (token.is(";") || token.is("{")) {
        if (open == kNone) return false;
        out.open = open;
        out.end = i;
        std::size_t name = t_.previous(open);
        if (name != kNone && t_[name].text.front() == '>') {
          name = t_.match_angle_back(name);
          if (name != kNone) name = t_.previous(name);
        }
        if (name == kNone || t_[name].kind != TokenKind::kWord) return false;
        out.name = name;
        return true;
      } else if (token.is("}") || token.is("=")) {
        return false;
      }
    }
    return false;
  }

  void collect_kernels() {
    for (std::size_t i = 0; i < t_.size(); ++i) {
      Definition d;
      if (t_[i].is("volatile") &&
          !is_one_of(t_.previous(i) == kNone ? "" : t_[t_.previous(i)].text, {"asm", "__asm__", "__asm"}))
        waits_ = true;
      if (t_[i].is("__global__") && definition(i, d)) kernels_.insert(std::string(t_[d.name].text));
    }
  }

  // --- words
  // ----------------------------------------------------------------------------------------------------------
  void word(std::size_t i) {
    const std::string_view text = t_[i].text;
    if (text == "__global__" || text == "__device__") on_device(i);
    if (text == "while" || text == "do") {
      waiting_loop(i);
    } else if (is_one_of(text, {"malloc", "free", "new"})) {
      heap(i);
    } else if (text == "__global__") {
      kernel(i);
    } else if (is_one_of(text, {"__device__", "__constant__", "__managed__"})) {
      device_variable(i);
    } else if (is_one_of(text, {"no_sanitize", "__no_sanitize__", "no_sanitize_thread",
                                "no_sanitize_undefined", "disable_sanitizer_instrumentation"})) {
      // The checks are not the candidate's to switch off.
      const std::size_t open = t_.next(i), close = t_.is(open, "(") ? t_.match(open) : kNone;
      if (close != kNone) t_.drop(i, close + 1);
      replace(i, "unused");
    } else if (text == "__shared__") {
      shared(i);
    } else if (text == "__noinline__") {
      // A macro of this name would reach into the standard library's attributes.
      const std::size_t before = t_.previous(i);
      if (!t_.is(before, "(")) replace(i, "__attribute__((noinline))");
    } else if (text == "asm" || text == "__asm__" || text == "__asm") {
      assembly(i);
    } else if (text == "return" && t_[i].directive != 0) {
      // Of a macro: where it will stand is not known.
      const std::size_t next = t_.next(i);
      if (next == kNone || t_.is(next, ";") || t_[next].directive != t_[i].directive)
        t_[i].after += " ::leap_cuda::leave(-1, 0)";
    } else if (text == "__cluster_dims__") {
      find(t_[i].line, "interface_error",
           "not covered by the emulation: thread block clusters (__cluster_dims__)");
    } else if (is_one_of(text, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaFuncSetAttribute",
                                "cudaFuncSetCacheConfig"})) {
      uncast(i);
    } else if (text == "reinterpret_cast") {
      const std::size_t open = t_.next(i);
      std::size_t close = open;
      while (close != kNone && !t_.is(close, ">")) close = t_.next(close);
      if (close == kNone || t_.text(open, close).find("void") == std::string::npos) return;
      std::size_t name = t_.next(t_.next(close) == kNone ? close : t_.next(close));
      if (t_.is(name, "&")) name = t_.next(name);
      if (name != kNone && kernels_.count(std::string(t_[name].text))) {
        t_.drop(i, close + 1);
        t_[i].before = "::leap_cuda::kernel_handle";
      }
    }
  }

  /// The body of a function of device code is remembered.
  void on_device(std::size_t i) {
    Definition d;
    if (!definition(i, d) || !t_.is(d.end, "{")) return;
    const std::size_t close = t_.match(d.end);
    if (close != kNone && close > device_end_) device_end_ = close;
    if (!scopes_.empty()) return;
    std::size_t begin = i;
    while (t_.previous(begin) != kNone && !is_one_of(t_[t_.previous(begin)].text, {";", "}"}))
      begin = t_.previous(begin);
    bool host = false;
    for (std::size_t k = begin; k < d.open; ++k) host = host || t_[k].is("__host__");
    if (!host) device_functions_[std::string(t_[d.name].text)] = std::string(t_[i].text);
  }

  /// A loop without a body waits for what other threads do: they get to run.
  void waiting_loop(std::size_t i) {
    const std::size_t open = t_.next(i);
    if (t_.is(i, "do")) {
      if (waits_ && i < device_end_ && t_.is(open, "{")) t_[open].after += " ::leap_cuda::turn();";
      return;
    }
    const std::size_t close = t_.is(open, "(") ? t_.match(open) : kNone;
    if (close == kNone) return;
    const std::size_t body = t_.next(close), before = t_.previous(i);
    if (t_.is(body, "{") && t_.is(t_.next(body), "}")) {
      t_[body].after += " ::leap_cuda::yield();";
    } else if (t_.is(body, "{") && waits_ && i < device_end_) {
      t_[body].after += " ::leap_cuda::turn();";
    } else if (t_.is(body, ";") && before != kNone) {
      // Not the end of do .. while.
      if (t_.is(before, "}")) {
        const std::size_t begin = t_.match_back(before);
        if (begin == kNone || t_.is(t_.previous(begin), "do")) return;
      } else if (!t_.is(before, "{") && !t_.is(before, ")") && !t_.is(before, ";")) {
        return;
      }
      for (std::size_t k = t_.previous(before); t_.is(before, ";") && k != kNone; k = t_.previous(k)) {
        if (t_.is(k, "do")) return;
        if (t_.is(k, ";") || t_.is(k, "{") || t_.is(k, "}")) break;
      }
      t_[body].before += " ::leap_cuda::yield()";
    }
  }

  /// The heap of device code is device memory.
  void heap(std::size_t i) {
    if (i > device_end_ || device_end_ == 0) return;
    const std::size_t after = t_.next(i), before = t_.previous(i);
    if (t_.is(before, ".") || t_.is(before, "->") || (t_.is(before, "operator"))) return;
    if (t_[i].is("new")) {
      if (!t_.is(after, "(")) t_[i].after += " (::leap_cuda::Heap())";
      return;
    }
    if (!t_.is(after, "(")) return;
    if (t_.is(before, "::")) {
      if (t_.is(t_.previous(before), "std"))
        t_.drop(t_.previous(before), before + 1);
      else
        return;
    }
    t_[i].before += "::leap_cuda::heap_";
  }

  /// Functions that take a kernel: by its type it is known, whatever it is cast to.
  void uncast(std::size_t i) {
    const std::size_t call = t_.next(i);
    const std::size_t open = t_.is(call, "(") ? t_.next(call) : kNone;
    const std::size_t close = t_.is(open, "(") ? t_.match(open) : kNone;
    if (close == kNone) return;
    std::string type;
    for (std::size_t k = open + 1; k < close; ++k)
      if (t_[k].kind != TokenKind::kSpace) type += t_[k].text;
    if (type == "void*" || type == "constvoid*" || type == "voidconst*") t_.drop(open, close + 1);
  }

  void replace(std::size_t i, std::string text) {
    t_.drop(i, i + 1);
    t_[i].before = std::move(text);
  }

  void kernel(std::size_t i) {
    replace(i, "");
    Definition d;
    if (!definition(i, d) || !t_.is(d.end, "{")) return;
    const std::size_t close = t_.match(d.end);
    if (close == kNone) return;
    const std::string name(t_[d.name].text);
    t_[d.end].after += " return ::leap_cuda::launch(\"" + name + "\", " + std::to_string(t_[d.name].line) +
                       ", ::leap_cuda::Bounds(" + d.bounds + "), [=]() mutable -> void {";
    t_[close].before = "});" + t_[close].before;
    for (std::size_t k = d.end; k < close; ++k)
      if (t_[k].is("return") && t_[k].directive == 0 && t_.is(t_.next(k), ";"))
        t_[k].after +=
            " ::leap_cuda::leave(" + std::to_string(t_[k].line) + ", " + std::to_string(t_[d.end].line) + ")";
    for (std::size_t k = d.end; k < close; ++k)
      if (t_[k].is("<<<"))
        find(t_[k].line, "interface_error",
             "not covered by the emulation: dynamic parallelism (a kernel that launches a kernel)");
  }

  // --- device variables
  // -----------------------------------------------------------------------------------------------
  /// Tells the checker of variables at namespace scope that this word declares.
  void device_variable(std::size_t i) {
    if (t_[i].directive != 0 ||
        std::any_of(scopes_.begin(), scopes_.end(), [](Scope scope) { return scope != Scope::kNamespace; }))
      return;
    bool managed = t_.is(i, "__managed__");
    for (std::size_t k = i; k != kNone && !t_.is(k, ";") && !t_.is(k, "{") && !t_.is(k, "}");
         k = t_.previous(k)) {
      if (is_one_of(t_[k].text, {"template", "extern", "typedef", "friend", "using", "__shared__"})) return;
      if (k != i && is_one_of(t_[k].text, {"__device__", "__constant__", "__managed__"})) return;
    }
    std::vector<std::size_t> names;
    std::size_t name = kNone, end = t_.next(i);
    bool initialised = false;
    for (; end != kNone && !t_.is(end, ";"); end = t_.next(end)) {
      const Token& token = t_[end];
      if (token.directive != 0) return;
      managed |= token.is("__managed__");
      if (token.is("__shared__") || is_one_of(token.text, {"struct", "class", "union", "enum", "operator"}))
        return;
      if (token.is("(") || token.is("{") || token.is("[")) {
        const std::size_t before = t_.previous(end);
        const bool attribute = is_one_of(t_[before].text, {"alignas", "__align__", "__attribute__"});
        if (token.is("(") && !initialised && !attribute) return;  // a function
        end = t_.match(end);
        if (end == kNone) return;
      } else if (token.is("=")) {
        initialised = true;
      } else if (token.is(",")) {
        names.push_back(name);
        initialised = false;
      } else if (token.is("<") && !initialised) {
        int depth = 0;
        for (; end != kNone && !t_.is(end, ";"); end = t_.next(end)) {
          if (t_.is(end, "<")) ++depth;
          if (t_.is(end, ">")) --depth;
          if (t_.is(end, ">>")) depth -= 2;
          if (depth <= 0) break;
        }
        if (end == kNone || depth != 0) return;
      } else if (token.kind == TokenKind::kWord && !initialised) {
        name = end;
      }
    }
    names.push_back(name);
    if (end == kNone) return;
    for (const std::size_t one : names)
      if (one != kNone)
        t_[end].after +=
            " LEAP_DEVICE_VARIABLE(" + std::string(t_[one].text) + ", " + (managed ? "true" : "false") + ");";
  }

  // --- launches
  // -------------------------------------------------------------------------------------------------------
  /// Where the expression that names the kernel begins; it ends before `end`.
  std::size_t callee(std::size_t end) const {
    std::size_t i = t_.previous(end);
    while (i != kNone) {
      if (!t_[i].text.empty() && t_[i].kind == TokenKind::kSymbol && t_[i].text.front() == '>' &&
          !t_.is(i, ">=")) {
        i = t_.match_angle_back(i);
        if (i != kNone) i = t_.previous(i);
        continue;
      }
      if (t_.is(i, ")") || t_.is(i, "]")) {
        i = t_.match_back(i);
        if (i == kNone) return kNone;
        const std::size_t before = t_.previous(i);
        const bool called =
            before != kNone && t_[before].kind == TokenKind::kWord &&
            !is_one_of(t_[before].text, {"return", "else", "do", "case", "if", "while", "for"});
        if (!called) return i;
        i = before;
      }
      if (t_[i].kind != TokenKind::kWord) return kNone;
      std::size_t before = t_.previous(i);
      if (t_.is(before, "template")) before = t_.previous(before);
      if (t_.is(before, "::")) {
        const std::size_t outer = t_.previous(before);
        const bool qualified = outer != kNone && (t_[outer].kind == TokenKind::kWord || t_.is(outer, ">")) &&
                               !is_one_of(t_[outer].text, {"return", "else", "do"});
        if (!qualified) return before;
        i = outer;
      } else if (t_.is(before, ".") || t_.is(before, "->")) {
        i = t_.previous(before);
      } else {
        return i;
      }
    }
    return kNone;
  }

  void launch(std::size_t i) {
    std::size_t end = i;
    int depth = 0;
    for (end = t_.next(i); end != kNone; end = t_.next(end)) {
      const std::string_view text = t_[end].text;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if (text == ")" || text == "]" || text == "}") --depth;
      if (depth < 0 || text == ";") end = t_.size() - 1;
      if (depth == 0 && text == ">>>") break;
    }
    const std::size_t begin = callee(i);
    const std::size_t open = end == kNone ? kNone : t_.next(end);
    const std::size_t close = t_.is(open, "(") ? t_.match(open) : kNone;
    if (begin == kNone || close == kNone) {
      find(t_[i].line, "compile_error", "expected a kernel call: name<<<grid, block>>>(arguments)");
      return;
    }
    const std::string configuration = t_.text(i + 1, end);
    t_.drop(i, end + 1);
    // The space keeps what stands before it apart, as in `case 0:k<<<`.
    t_[begin].before += " (::leap_cuda::push_configuration(" + configuration + "), ";
    t_[close].after = ")" + t_[close].after;
  }

  /// (void*)kernel: as a pointer that can be launched.
  void cast(std::size_t i) {
    std::size_t at = t_.next(i);
    bool is_void = false, pointer = false;
    for (; at != kNone && !t_.is(at, ")"); at = t_.next(at)) {
      if (t_.is(at, "void"))
        is_void = true;
      else if (t_.is(at, "*"))
        pointer = true;
      else if (!t_.is(at, "const"))
        return;
    }
    if (!is_void || !pointer || at == kNone) return;
    std::size_t name = t_.next(at);
    if (t_.is(name, "&")) name = t_.next(name);
    while (name != kNone && t_.is(t_.next(name), "::")) name = t_.next(t_.next(name));
    if (name == kNone || !kernels_.count(std::string(t_[name].text))) return;
    std::size_t end = name;
    std::size_t after = t_.next(name);
    if (t_.is(after, "<")) {
      int depth = 0;
      for (; after != kNone; after = t_.next(after)) {
        if (t_.is(after, "<")) ++depth;
        if (t_.is(after, ">")) --depth;
        if (t_.is(after, ">>")) depth -= 2;
        if (depth <= 0) break;
      }
      if (after == kNone) return;
      end = after;
    } else if (t_.is(after, "(")) {
      return;
    }
    t_.drop(i, at + 1);
    t_[i].before += "::leap_cuda::kernel_handle(";
    t_[end].after += ")";
  }

  // --- shared memory
  // --------------------------------------------------------------------------------------------------
  void shared(std::size_t i) {
    // The declaration, from its first specifier to its semicolon.
    std::size_t begin = i;
    for (std::size_t k = t_.previous(i); k != kNone; k = t_.previous(k)) {
      const Token& token = t_[k];
      if (token.is(";") || token.is("{") || token.is("}") || token.is(":") ||
          token.directive != t_[i].directive)
        break;
      if (token.is("(") || token.is(",")) return;  // a parameter of a macro: left as it is
      if (token.is(")")) {
        k = t_.match_back(k);
        if (k == kNone) return;
      }
      begin = k;
    }
    std::size_t end = i;
    for (; end != kNone && !t_.is(end, ";"); end = t_.next(end))
      if (t_.is(end, "{") || t_.is(end, "(") || t_.is(end, "[")) {
        end = t_.match(end);
        if (end == kNone) break;
      }
    if (end == kNone) return;
    bool is_extern = false;
    for (std::size_t k = begin; k < end; ++k) {
      if (t_[k].is("extern")) is_extern = true;
      if (t_[k].is("alignas")) {
        t_[k].dropped = true;
        t_[k].before = "__align__";
      }
      if (is_one_of(t_[k].text, {"extern", "static", "__shared__", "__device__", "constexpr"}) &&
          t_[k].kind == TokenKind::kWord)
        t_[k].dropped = true;
    }
    // Dynamic memory is aligned anyway.
    for (std::size_t k = begin; is_extern && k < end; ++k)
      if (is_one_of(t_[k].text, {"__align__", "alignas", "__attribute__"}) && t_.is(t_.next(k), "(")) {
        const std::size_t close = t_.match(t_.next(k));
        t_.drop(k, close + 1);
      }
    // Declarators: split at commas outside of all brackets.
    std::vector<std::array<std::size_t, 2>> parts;
    std::size_t from = begin;
    int angles = 0;
    for (std::size_t k = begin; k < end; ++k) {
      if (t_[k].kind != TokenKind::kSymbol) continue;
      if (t_.is(k, "(") || t_.is(k, "[") || t_.is(k, "{")) k = t_.match(k);
      if (t_.is(k, "<")) ++angles;
      if (t_.is(k, ">")) --angles;
      if (t_.is(k, ">>")) angles -= 2;
      if (t_.is(k, "=") && angles == 0) {
        find(t_[k].line, "compile_error", "an initializer is not allowed for a \"__shared__\" variable");
        return;
      }
      if (t_.is(k, ",") && angles == 0) {
        parts.push_back({from, k});
        from = k + 1;
      }
    }
    parts.push_back({from, end});
    std::string base, out;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::size_t name = declared_name(parts[p][0], parts[p][1]);
      if (name == kNone) {
        find(t_[i].line, "interface_error",
             "not covered by the emulation: this form of __shared__ declaration");
        return;
      }
      std::size_t first = parts[p][0];
      if (p == 0) {
        std::size_t type_end = name;
        while (t_.is(t_.previous(type_end), "*") && t_.previous(type_end) >= begin)
          type_end = t_.previous(type_end);
        base = t_.text(begin, type_end);
        first = type_end;
      }
      const std::string id(t_[name].text);
      if (is_extern) {
        out += " LEAP_DYNAMIC_SHARED(" + id + ", " + t_.text(name + 1, parts[p][1]) + ", " + base + ");";
      } else if (in_function()) {
        out += " LEAP_SHARED(" + id + ", " + base + " " + t_.text(first, parts[p][1]) + ");";
      } else {
        out += " static thread_local " + base + " " + t_.text(first, parts[p][1]) + ";";
      }
    }
    t_.drop(begin, end + 1);
    t_[i].before = out;
  }

  /// The last word of a declarator outside of brackets.
  std::size_t declared_name(std::size_t begin, std::size_t end) const {
    std::size_t name = kNone;
    for (std::size_t k = begin; k < end; ++k) {
      if (t_.is(k, "(") || t_.is(k, "[") || t_.is(k, "{")) {
        k = t_.match(k);
        if (k == kNone) return kNone;
        continue;
      }
      if (t_.is(k, "<")) {
        int depth = 0;
        for (; k < end; ++k) {
          if (t_.is(k, "<")) ++depth;
          if (t_.is(k, ">")) --depth;
          if (t_.is(k, ">>")) depth -= 2;
          if (depth <= 0) break;
        }
        continue;
      }
      if (t_[k].kind == TokenKind::kWord && !t_[k].dropped &&
          !is_one_of(t_[k].text, {"__align__", "alignas", "__attribute__", "volatile", "const"}))
        name = k;
    }
    return name;
  }

  // --- directives
  // -----------------------------------------------------------------------------------------------------
  void include(std::size_t i) {
    const std::string_view text = t_[i].text;
    const std::size_t open = text.find_first_of("<\"");
    const std::size_t close = open == std::string_view::npos ? open : text.find_first_of(">\"", open + 1);
    if (close == std::string_view::npos) return;
    const std::string_view name = text.substr(open + 1, close - open - 1);
    if (name.empty() || name.front() == '/' || name.find("..") != std::string_view::npos) {
      find(t_[i].line, "compile_error", "no such file: " + std::string(name));
      replace(i, "");
    } else if (const std::string library = library_of(name); !library.empty()) {
      replace(i, "#include \"" + library + "\"");
    } else if (looks_like_cuda(name) && !is_known_header(name)) {
      find(t_[i].line, "interface_error", "not covered by the emulation: <" + std::string(name) + ">");
      replace(i, "");
    }
  }

  static bool looks_like_cuda(std::string_view name) {
    for (const std::string_view prefix : {"cu",
                                          "thrust/",
                                          "nv",
                                          "torch/",
                                          "ATen/",
                                          "c10/",
                                          "cooperative_groups",
                                          "mma.h",
                                          "crt/",
                                          "device_",
                                          "sm_",
                                          "vector_",
                                          "channel_",
                                          "texture_",
                                          "surface_",
                                          "helper_",
                                          "nccl",
                                          "cutlass",
                                          "cute/",
                                          "driver_",
                                          "math_c",
                                          "builtin_types",
                                          "host_"})
      if (name.substr(0, prefix.size()) == prefix) return true;
    return false;
  }

  /// Loops asked to be unrolled are: kernels lean on it. Any other pragma means nothing to g++.
  void pragma(std::size_t i) {
    std::string_view text = t_[i].text;
    const std::size_t at = text.find("unroll");
    if (at == std::string_view::npos || text.find('\\') != std::string_view::npos) return;
    const std::size_t loop = t_.next(i);
    if (loop == kNone || !is_one_of(t_[loop].text, {"for", "while", "do"})) {
      replace(i, "");
      return;
    }
    std::string count;
    for (const char c : text.substr(at + 6)) {
      if (c >= '0' && c <= '9')
        count += c;
      else if (c == '/' || (!count.empty() && (c == ' ' || c == ')')))
        break;
      else if (c != ' ' && c != '(' && c != '\t') {
        count = "x";
        break;
      }
    }
    if (count == "x" || count.size() > 3)
      replace(i, "");
    else
      replace(i, "#pragma GCC unroll " + (count.empty() ? "16" : count));
  }

  void assembly(std::size_t i) {
    std::size_t open = t_.next(i);
    while (open != kNone && is_one_of(t_[open].text, {"volatile", "__volatile__", "goto", "inline"}))
      open = t_.next(open);
    if (!t_.is(open, "(")) return;
    const std::size_t close = t_.match(open);
    if (close == kNone) return;
    std::vector<std::string> texts;
    std::string templ;
    std::size_t k = t_.next(open);
    for (; k < close && t_[k].kind == TokenKind::kString; k = t_.next(k)) {
      const std::string_view literal = t_[k].text;
      const std::size_t a = literal.find('"'), b = literal.rfind('"');
      if (b > a) templ += literal.substr(a + 1, b - a - 1);
    }
    if (k < close && !t_.is(k, ":") && !t_.is(k, "::")) {
      find(t_[i].line, "interface_error", "not covered by the emulation: inline assembly");
      return;
    }
    // Sections of operands, each "constraint"(expression).
    std::vector<std::vector<Operand>> sections(1);
    for (; k < close; k = t_.next(k)) {
      if (t_.is(k, ":")) {
        sections.emplace_back();
      } else if (t_.is(k, "::")) {
        sections.emplace_back();
        sections.emplace_back();
      } else if (t_[k].kind == TokenKind::kString) {
        const std::size_t paren = t_.next(k);
        if (!t_.is(paren, "(")) continue;
        const std::size_t end = t_.match(paren);
        std::string constraint(t_[k].text.substr(1, t_[k].text.size() - 2));
        sections.back().push_back({constraint, t_.text(paren + 1, end)});
        k = end;
      }
    }
    sections.resize(std::max<std::size_t>(sections.size(), 3));
    std::string text, feature;
    if (!translate_ptx(templ, sections[1], sections[2], text, feature)) {
      find(t_[i].line, "interface_error", "not covered by the emulation: inline PTX " + feature);
      return;
    }
    t_.drop(i, close + 1);
    t_[i].before = text;
  }

  Tokens t_;
  const Profile& profile_;
  std::vector<Finding> findings_;
  std::set<std::string> kernels_;
  std::map<std::string, std::string> device_functions_;
  std::vector<Scope> scopes_;
  struct Branch {
    std::vector<Scope> begin, first_end;
    bool other;
  };
  std::vector<Branch> branches_;
  bool waits_ = false;          ///< there are volatile reads, so loops may wait for other threads
  std::size_t device_end_ = 0;  ///< of the function of device code begun last
};

}  // namespace

Translation translate(std::string_view source, const Profile& profile) {
  Translation out = Translator(source, profile).run();
  out.all_headers = needs_all_headers(source);
  const std::string arch = std::to_string(profile.cuda_arch);
  out.text = "#undef __CUDA_ARCH__\n#define __CUDA_ARCH__ " + arch + "\n#line 1 \"solution.cpp\"\n" +
             out.text + "\n";
  return out;
}

}  // namespace leap::cudacpu
