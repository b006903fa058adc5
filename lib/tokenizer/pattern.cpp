#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pattern.hpp"

#include <pcre2.h>

#include <cctype>

#include "base/error.hpp"
#include "tokenizer/unicode.hpp"

namespace leap::tokenizer {
namespace {

/// The members of \s; PCRE2's has U+180E as well.
constexpr const char* kSpaceMembers =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// Rewrites Oniguruma's pattern for PCRE2.
class Translator {
 public:
  explicit Translator(const std::string& pattern) : in_(pattern) {}

  std::string run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_char(c);
      } else if (c == '[') {
        open_class();
      } else if (c == '(' && in_.compare(at_, 2, "(?") == 0) {
        group();
      } else if (c == '}' && in_.compare(at_, 2, "}+") == 0) {
        refuse("'+' after '}'");
      } else {
        out_ += c;
        ++at_;
      }
    }
    return out_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error("pattern \"" + in_ + "\": " + what + " is not supported");
  }

  void open_class() {
    in_class_ = true;
    out_ += in_[at_++];
    if (at_ < in_.size() && in_[at_] == '^') out_ += in_[at_++];
    if (at_ < in_.size() && in_[at_] == ']') refuse("']' first in a class");
  }

  void class_char(char c) {
    if (c == '[') refuse("a class in a class");
    if (c == '&' && in_.compare(at_, 2, "&&") == 0) refuse("'&&' in a class");
    if (c == ']') in_class_ = false;
    out_ += c;
    ++at_;
  }

  void group() {
    for (const char* known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)"}) {
      if (in_.compare(at_, std::char_traits<char>::length(known), known) == 0) {
        out_ += known;
        at_ += std::char_traits<char>::length(known);
        return;
      }
    }
    refuse("the group " + in_.substr(at_, 4));
  }

  /// A class of `members`, or the members alone inside a class.
  void members(const std::string& members, bool negated) {
    if (!in_class_) {
      out_ += (negated ? "[^" : "[") + members + "]";
    } else if (!negated) {
      out_ += members;
    } else {
      refuse("a negated class in a class");
    }
  }

  void escape() {
    if (at_ + 1 >= in_.size()) refuse("a backslash at the end");
    const char c = in_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 'p':
      case 'P':
        return property(c == 'P');
      case 's':
        return members(kSpaceMembers, false);
      case 'S':
        return in_class_ ? void(out_ += "\\S") : members(kSpaceMembers, true);
      case 'd':
      case 'D':
        return members("\\p{Nd}" + newer_members("Nd"), c == 'D');
      case 'w':
      case 'W':
        return members("\\p{L}\\p{M}\\p{N}\\p{Pc}" + newer_members("L") + newer_members("M") +
                           newer_members("N") + other_word_members(),
                       c == 'W');
      case 'h':
      case 'H':
        return members("0-9a-fA-F", c == 'H');
      case 'x':
      case 't':
      case 'n':
      case 'r':
      case 'f':
      case 'v':
      case 'b':
        if (c == 'b' && in_class_) refuse("\\b in a class");
        out_ += c == 'v' ? std::string("\\x0b") : std::string("\\") + c;
        return;
      case 'u':
        if (in_.size() - at_ < 4) refuse("\\u");
        out_ += "\\x{" + in_.substr(at_, 4) + "}";
        at_ += 4;
        return;
      default:
        if (std::isalnum(static_cast<unsigned char>(c))) refuse(std::string("\\") + c);
        out_ += '\\';
        out_ += c;
    }
  }

  void property(bool negated) {
    std::string name;
    if (at_ < in_.size() && in_[at_] == '{') {
      const std::size_t close = in_.find('}', at_);
      if (close == std::string::npos) refuse("\\p{");
      name = in_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
    } else {
      refuse("\\p without braces");
    }
    if (!name.empty() && name[0] == '^') {
      negated = !negated;
      name.erase(0, 1);
    }
    // A longer name is a script; PCRE2 would also take the characters that several scripts share.
    const std::string own = name.size() <= 2 ? name : "sc:" + name;
    const std::string newer = newer_members(name);
    if (newer.empty()) {
      out_ += (negated ? "\\P{" : "\\p{") + own + "}";
    } else {
      members("\\p{" + own + "}" + newer, negated);
    }
  }

  const std::string& in_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

struct Pattern::Compiled {
  std::string literal;
  bool is_literal = false;
  std::string source;
  pcre2_code* code = nullptr;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcre2_code_free(code); }
};

namespace {

/// What one match of one thread needs; JIT code runs on a stack of its own that grows to 8 MB.
struct Scratch {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, 8 << 20, nullptr);
  Scratch() { pcre2_jit_stack_assign(context, nullptr, stack); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

}  // namespace

Pattern Pattern::plain_regex(const std::string& pattern) {
  const std::string translated = Translator(pattern).run();
  auto compiled = std::make_shared<Compiled>();
  compiled->source = pattern;
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  compiled->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK, &code, &offset, context);
  pcre2_compile_context_free(context);
  if (compiled->code == nullptr) {
    PCRE2_UCHAR message[128];
    pcre2_get_error_message(code, message, sizeof message);
    throw Error("pattern \"" + pattern + "\": " + reinterpret_cast<const char*>(message));
  }
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);
  Pattern out;
  out.compiled_ = std::move(compiled);
  return out;
}

Pattern Pattern::regex(const std::string& pattern) {
  Pattern out = plain_regex(pattern);
  if (pattern == kGpt2Pattern) out.scanner_ = scan_gpt2;
  if (pattern == kQwen2Pattern) out.scanner_ = scan_qwen2;
  if (pattern == kLlama3Pattern) out.scanner_ = scan_llama3;
  return out;
}

Pattern Pattern::literal(const std::string& text) {
  if (text.empty()) return plain_regex("");
  auto compiled = std::make_shared<Compiled>();
  compiled->literal = text;
  compiled->is_literal = true;
  Pattern out;
  out.compiled_ = std::move(compiled);
  return out;
}

void Pattern::pieces(std::string_view text, std::vector<Piece>& out) const {
  out.clear();
  if (text.empty()) return;
  std::size_t last = 0;
  const auto match = [&](std::size_t begin, std::size_t end) {
    if (last != begin) out.push_back({last, begin, false});
    out.push_back({begin, end, true});
    last = end;
  };
  if (scanner_ != nullptr) {
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p != end;) {
      const char* const next = scanner_(p, end);
      match(static_cast<std::size_t>(p - text.data()), static_cast<std::size_t>(next - text.data()));
      p = next;
    }
  } else if (compiled_->is_literal) {
    const std::string& literal = compiled_->literal;
    for (std::size_t at = 0; (at = text.find(literal, at)) != std::string_view::npos; at += literal.size()) {
      match(at, at + literal.size());
    }
  } else {
    thread_local Scratch scratch;
    bool any = false;
    for (std::size_t at = 0; at <= text.size();) {
      const int rc = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                 PCRE2_NO_UTF_CHECK, scratch.data, scratch.context);
      if (rc == PCRE2_ERROR_NOMATCH) break;
      if (rc < 0) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(rc, message, sizeof message);
        throw RecordError("pattern \"" + compiled_->source + "\" on a text of " +
                          std::to_string(text.size()) + " bytes: " + reinterpret_cast<const char*>(message));
      }
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(scratch.data);
      if (found[0] == found[1] && any && found[1] == last) {  // no empty match right after a match
        std::size_t length = 1;
        if (at < text.size()) decode_char(text.data() + at, length);
        at += length;
        continue;
      }
      any = true;
      match(found[0], found[1]);
      at = found[1];
    }
  }
  if (last != text.size()) out.push_back({last, text.size(), false});
}

namespace {

int class_of(const std::uint8_t* classes, const char* p, std::size_t& length) {
  return classes[decode_char(p, length)];
}

/// The end of the run from `p` of characters that have one of `bits` (`have`), or have none of them.
const char* run_end(const std::uint8_t* classes, const char* p, const char* end, int bits, bool have) {
  std::size_t length = 0;
  while (p != end && ((class_of(classes, p, length) & bits) != 0) == have) p += length;
  return p;
}

/// `\s+(?!\S)|\s+` at white space: all but the run's last character when something follows the run.
const char* scan_space(const char* begin, const char* run, const char* end) {
  if (run == end) return run;
  const char* const before = char_before(run);
  return before == begin ? run : before;
}

/// The end of `'s|'t|'re|'ve|'m|'ll|'d` at `p`, or null; `fold` adds upper case, and U+017F, which folds to
/// s.
const char* contraction(const char* p, const char* end, bool fold) {
  if (*p != '\'' || end - p < 2) return nullptr;
  const auto lower = [&](char c) { return fold && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  const char c = lower(p[1]);
  if (c == 's' || c == 't' || c == 'm' || c == 'd') return p + 2;
  if (end - p < 3) return nullptr;
  const char d = lower(p[2]);
  if ((c == 'r' && d == 'e') || (c == 'v' && d == 'e') || (c == 'l' && d == 'l')) return p + 3;
  if (fold && p[1] == '\xc5' && p[2] == '\xbf') return p + 3;
  return nullptr;
}

/// Qwen2's and Llama-3's pattern, which differ in how many digits stay together.
const char* scan_qwen2(const char* begin, const char* end, int max_digits) {
  const std::uint8_t* const classes = char_classes();
  if (const char* const found = contraction(begin, end, true)) return found;
  std::size_t length = 0;
  const int first = class_of(classes, begin, length);
  const char* p = begin + length;
  const bool newline = *begin == '\r' || *begin == '\n';
  if ((first & kLetter) != 0) return run_end(classes, p, end, kLetter, true);
  if ((first & kNumber) != 0) {
    for (int n = 1; n < max_digits && p != end && (class_of(classes, p, length) & kNumber) != 0; ++n)
      p += length;
    return p;
  }
  const int second = p == end ? 0 : class_of(classes, p, length);
  if (!newline && (second & kLetter) != 0) return run_end(classes, p + length, end, kLetter, true);
  constexpr int kOthers = kSpace | kLetter | kNumber;
  if ((first & kSpace) == 0 || (*begin == ' ' && p != end && (second & kOthers) == 0)) {
    p = run_end(classes, p, end, kOthers, false);
    while (p != end && (*p == '\r' || *p == '\n')) ++p;
    return p;
  }
  const char* const run = run_end(classes, begin, end, kSpace, true);
  for (const char* q = run; q != begin; --q) {
    if (q[-1] == '\r' || q[-1] == '\n') return q;
  }
  return scan_space(begin, run, end);
}

}  // namespace

const char* scan_gpt2(const char* begin, const char* end) {
  const std::uint8_t* const classes = char_classes();
  if (const char* const found = contraction(begin, end, false)) return found;
  const char* p = begin;
  if (*p == ' ' && end - p >= 2) ++p;
  std::size_t length = 0;
  const int bits = class_of(classes, p, length);
  if ((bits & kSpace) == 0) {
    p += length;
    if ((bits & kLetter) != 0) return run_end(classes, p, end, kLetter, true);
    if ((bits & kNumber) != 0) return run_end(classes, p, end, kNumber, true);
    return run_end(classes, p, end, kSpace | kLetter | kNumber, false);
  }
  return scan_space(begin, run_end(classes, begin, end, kSpace, true), end);
}

const char* scan_qwen2(const char* begin, const char* end) {
  return scan_qwen2(begin, end, 1);
}

const char* scan_llama3(const char* begin, const char* end) {
  return scan_qwen2(begin, end, 3);
}

}  // namespace leap::tokenizer
