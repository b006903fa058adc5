#include "decomp/cpp_parts.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <string_view>

#include "base/text.hpp"
#include "records/code.hpp"
#include "verify/programs.hpp"

namespace leap::decomp {
namespace {

using Words = std::set<std::string>;

constexpr std::size_t kLongLine = 500;  // longer lines are not matched with patterns

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

struct Token {
  std::size_t begin = 0;
  std::string text;  ///< a word, or one other character
};

/// Words (numbers too) and single characters of blanked text.
std::vector<Token> tokens_of(const std::string& text, std::size_t begin, std::size_t end) {
  std::vector<Token> out;
  for (std::size_t i = begin; i < end;) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    std::size_t next = i + 1;
    if (is_word(text[i]))
      while (next < end && is_word(text[next])) ++next;
    out.push_back({i, text.substr(i, next - i)});
    i = next;
  }
  return out;
}

Words words_of(const std::vector<Token>& tokens) {
  Words out;
  for (const Token& token : tokens)
    if (is_word(token.text[0]) && !std::isdigit(static_cast<unsigned char>(token.text[0])))
      out.insert(token.text);
  return out;
}

/// What reaches around the language, or reads the program's own text or place; empty when there is none.
std::string forbidden_word(const Words& words) {
  static const Words kForbidden = {
      "asm",     "syscall",    "mmap",    "mremap",      "mprotect", "ptrace", "dlsym",
      "dlopen",  "fork",       "vfork",   "clone",       "execv",    "execve", "execl",
      "execvp",  "execle",     "execvpe", "posix_spawn", "openat",   "creat",  "mkstemp",
      "tmpfile", "environ",    "getenv",  "fopen",       "freopen",  "open",   "opendir",
      "unlink",  "filesystem", "friend",  "typeid",      "popen",    "system", "program_invocation_name"};
  for (const std::string& word : words) {
    if (kForbidden.count(word)) return word;
    if (word.find("fstream") != std::string::npos || word.find("filebuf") != std::string::npos) return word;
    if (word.rfind(kCppPrefix, 0) == 0) return word;
    if (word.rfind("__", 0) == 0 && word.rfind("__builtin_", 0) != 0 && word != "__int128" &&
        word != "__gcd" && word != "__lg")
      return word;
  }
  return "";
}

std::string changing_word(const Words& words) {
  static const Words kChanging = {"time",         "clock",   "chrono",      "random_device",  "getpid",
                                  "thread",       "jthread", "async",       "pthread_create", "clock_gettime",
                                  "gettimeofday", "rdtsc",   "this_thread", "uintptr_t",      "intptr_t"};
  for (const std::string& word : words)
    if (kChanging.count(word)) return word;
  return "";
}

/// Text that the lexer here may read otherwise than the compiler.
bool is_unclear(const std::string& code, const std::string& blanked) {
  static const std::regex odd(R"(\b(u8|[uUL])?R"|\?\?|%:|<%|%>|\b(u8|[LuU])')");
  if (std::regex_search(code, odd)) return true;
  for (std::size_t at = code.find('\\'); at != std::string::npos; at = code.find('\\', at + 1))
    if (code.find_first_not_of(" \t\r", at + 1) == code.find('\n', at + 1)) return true;
  const std::size_t comment = code.rfind("/*");
  return blanked.find("[[") != std::string::npos || code.find('\0') != std::string::npos ||
         (comment != std::string::npos && code.find("*/", comment + 2) == std::string::npos) ||
         std::count(code.begin(), code.end(), '\n') >= kCppLines - 2;
}

bool is_balanced(const std::string& blanked) {
  std::string open;
  for (const char c : blanked) {
    if (c == '(' || c == '[' || c == '{') open += c;
    if (c != ')' && c != ']' && c != '}') continue;
    const char want = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open.empty() || open.back() != want) return false;
    open.pop_back();
  }
  return open.empty();
}

bool is_header(const std::string& name) {
  static const Words kHeaders = {
      "algorithm",    "array",       "bitset",        "cassert",       "cctype",    "climits",  "cmath",
      "complex",      "cstdint",     "cstdio",        "cstdlib",       "cstring",   "deque",    "exception",
      "forward_list", "functional",  "iomanip",       "ios",           "iostream",  "istream",  "iterator",
      "limits",       "list",        "map",           "memory",        "numeric",   "optional", "ostream",
      "queue",        "set",         "sstream",       "stack",         "stdexcept", "string",   "string_view",
      "tuple",        "type_traits", "unordered_map", "unordered_set", "utility",   "variant",  "vector"};
  return kHeaders.count(name) > 0;
}

/// Blanks `text[begin, end)` but for line ends.
void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != '\n') text[i] = ' ';
}

struct Item {
  std::size_t begin = 0, head_end = 0, end = 0;
  bool body = false;  ///< a brace, not a semicolon, ends the head
};

/// Declarations of balanced text, one after the other.
std::vector<Item> items_of(const std::string& text) {
  std::vector<Item> out;
  Item item;
  bool inside = false, after_body = false;
  int depth = 0;
  auto finish = [&](std::size_t end) {
    item.end = end;
    out.push_back(item);
    inside = after_body = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!inside && (std::isspace(static_cast<unsigned char>(c)) || c == ';')) continue;
    if (!inside) item = {i, 0, 0, false}, inside = true;
    if (c == '{' && depth == 0 && !item.body) item.head_end = i, item.body = true;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth != 0) continue;
    if (c == ';') {
      if (!item.body) item.head_end = i;
      finish(i + 1);
    } else if (c == '}') {
      // Of a function; a type or an initializer goes on to its semicolon.
      const std::string head = text.substr(item.begin, item.head_end - item.begin);
      if (head.find('(') != std::string::npos && head.find('=') == std::string::npos) finish(i + 1);
    }
  }
  if (inside) {
    item.head_end = item.body ? item.head_end : text.size();
    finish(text.size());
  }
  return out;
}

std::string joined(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t i = begin; i < end; ++i) {
    if (!out.empty() && is_word(out.back()) && is_word(tokens[i].text[0])) out += ' ';
    out += tokens[i].text;
  }
  return out;
}

struct Head {
  std::string name, result;
  std::vector<std::string> types;
  bool plain = false;  ///< all of it was understood, and it has no specifier
};

/// The head of a function; false when it is not clearly one.
bool read_head(const std::string& blanked, const Item& item, Head& out) {
  static const Words kNot = {"auto",      "template",      "operator", "using",    "typedef",
                             "namespace", "extern",        "virtual",  "explicit", "decltype",
                             "return",    "static_assert", "class",    "struct",   "union",
                             "enum",      "concept",       "requires", "consteval"};
  static const Words kTypes = {"int",   "long",     "char",   "double", "float", "bool",
                               "short", "unsigned", "signed", "const",  "auto",  "wchar_t"};
  const auto tokens = tokens_of(blanked, item.begin, item.head_end);
  std::size_t open = 0;
  while (open < tokens.size() && tokens[open].text != "(") ++open;
  if (open + 1 >= tokens.size() || open < 2 || tokens.back().text != ")") return false;
  for (const Token& token : tokens)
    if (kNot.count(token.text) || token.text == "=" || token.text == "[" || token.text == "{" ||
        token.text == "~")
      return false;
  out = {};
  out.name = tokens[open - 1].text;
  if (!is_word(out.name[0]) || std::isdigit(static_cast<unsigned char>(out.name[0])) ||
      kTypes.count(out.name) || tokens[open - 2].text == ":")
    return false;
  out.plain = true;
  std::size_t first = 0;
  while (first + 1 < open && (tokens[first].text == "static" || tokens[first].text == "inline" ||
                              tokens[first].text == "constexpr"))
    out.plain = false, ++first;
  if (first + 1 >= open) return false;
  out.result = joined(tokens, first, open - 1);
  for (std::size_t i = open + 1, from = open + 1, depth = 0; i < tokens.size(); ++i) {
    const std::string& t = tokens[i].text;
    const bool last = i + 1 == tokens.size();
    if (t == "(" || t == "." || (t == ")" && !last)) return false;
    if (t == "<") ++depth;
    if (t == ">") {
      if (depth == 0) return false;
      --depth;
    }
    if (!last && (t != "," || depth > 0)) continue;
    if (depth > 0) return false;
    std::size_t end = i;
    if (end == from && last && out.types.empty()) break;
    if (end == from) return false;
    const std::string& name = tokens[end - 1].text;
    const bool named = end - from > 1 && is_word(name[0]) && !kTypes.count(name) &&
                       tokens[end - 2].text != ":" && tokens[end - 2].text != "const";
    out.types.push_back(joined(tokens, from, named ? end - 1 : end));
    from = i + 1;
  }
  if (out.types.size() == 1 && out.types[0] == "void") out.types.clear();
  return true;
}

/// Names of a variable of a plain type, whose initializer only computes; false for all others.
bool read_variable(const std::string& blanked, const Item& item, Words& names) {
  if (item.body || item.head_end - item.begin > kLongLine) return false;
  static const Words kPlain = {"int",      "long",   "char",  "double", "float",     "bool", "short",
                               "unsigned", "signed", "const", "static", "constexpr", "ll"};
  const std::string text = blanked.substr(item.begin, item.head_end - item.begin);
  const auto tokens = tokens_of(text, 0, text.size());
  std::size_t i = 0;
  bool type = false;
  for (; i < tokens.size() && kPlain.count(tokens[i].text); ++i)
    type = type || (tokens[i].text != "const" && tokens[i].text != "static" && tokens[i].text != "constexpr");
  if (!type) return false;
  static const std::regex one(R"(\s*(\w+)\s*((\[[\w\s+*]+\]\s*)*|=\s*[\w\s.*-]+([+][\w\s.*-]+)*)\s*)");
  const std::size_t begin = i < tokens.size() ? tokens[i].begin : text.size();
  for (std::size_t at = begin; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    std::smatch match;
    if (!std::regex_match(part, match, one) || part.find("--") != std::string::npos) return false;
    names.insert(match[1]);
    at = end + 1;
  }
  return true;
}

bool read_type(const std::string& blanked, const Item& item, Words& names) {
  const auto tokens = tokens_of(blanked, item.begin, item.end);
  if (!item.body || tokens.size() < 5 || (tokens[0].text != "struct" && tokens[0].text != "class"))
    return false;
  if (!is_word(tokens[1].text[0]) || tokens[2].text != "{") return false;
  if (tokens.back().text != ";" || tokens[tokens.size() - 2].text != "}") return false;
  for (const Token& token : tokens)
    if (token.text == "static" || token.text == "template" || token.text == "enum") return false;
  names.insert(tokens[1].text);
  return true;
}

/// Blanks directives and what the preamble says already; false where another directive is left.
bool drop_repeated(std::string& code, std::string& blanked, bool all_headers, bool using_std) {
  static const std::regex include(R"(\s*#\s*include\s*<(\w+)>\s*)");
  static const std::regex spaces(R"(\s*using\s+namespace\s+std\s*;\s*)");
  int depth = 0;
  for (std::size_t at = 0; at < blanked.size();) {
    const std::size_t end = std::min(blanked.find('\n', at), blanked.size());
    const std::string line = blanked.substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t\r");
    std::smatch match;
    if (first != std::string::npos && line[first] == '#') {
      if (line.size() > kLongLine) return false;
      if (!all_headers || !std::regex_match(line, match, include) ||
          !(is_header(match[1]) || (match[1] == "bits/stdc++.h")))
        return false;
      blank(code, at, end), blank(blanked, at, end);
    } else if (depth == 0 && using_std && line.size() <= kLongLine && std::regex_match(line, spaces)) {
      blank(code, at, end), blank(blanked, at, end);
    }
    for (const char c : line) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    at = end + 1;
  }
  return blanked.find('#') == std::string::npos;
}

/// `code` with `names` replaced, but for members and qualified names.
std::string renamed(const std::string& code, const std::string& blanked, const Words& names, int index) {
  std::string out;
  std::size_t done = 0;
  const auto tokens = tokens_of(blanked, 0, blanked.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!names.count(tokens[i].text)) continue;
    const std::string before = i > 0 ? tokens[i - 1].text : "";
    const std::string earlier = i > 1 ? tokens[i - 2].text : "";
    if (before == "." || (before == ">" && earlier == "-") || (before == ":" && earlier == ":")) continue;
    out.append(code, done, tokens[i].begin - done);
    out += cpp_own_name(tokens[i].text, index);
    done = tokens[i].begin + tokens[i].text.size();
  }
  return out.append(code, done, std::string::npos);
}

/// Are these tokens there, outside of all braces?
bool has_at_top(const std::vector<Token>& tokens, const std::vector<std::string>& wanted) {
  int depth = 0;
  for (std::size_t i = 0; i + wanted.size() <= tokens.size(); ++i) {
    depth += tokens[i].text == "{" ? 1 : tokens[i].text == "}" ? -1 : 0;
    std::size_t same = 0;
    while (same < wanted.size() && tokens[i + same].text == wanted[same]) ++same;
    if (depth == 0 && same == wanted.size()) return true;
  }
  return false;
}

struct Around {
  Words words, macros;  ///< of preamble and main
  bool all_headers = false, using_std = false;
};

/// Why nothing can be shared; empty when it can.
std::string read_around(const Decomposition& decomposition, Around& out) {
  std::string preamble = records::blank_literals(decomposition.preamble);
  const std::string main = records::blank_literals(decomposition.main);
  out.all_headers = verify::begins_with_all_headers(decomposition.preamble);
  for (const auto& [code, text] : {std::pair(decomposition.preamble, preamble), {decomposition.main, main}}) {
    if (is_unclear(code, text) || !is_balanced(text)) return "preamble or main is not read";
  }
  static const std::regex known(
      R"(\s*#\s*(include|pragma\s+(?:once\b|GCC\s+(?:optimize|target)\b)|define\s+(\w+))([^#]*))");
  for (std::size_t at = 0, next = 0; at < preamble.size(); at = next) {
    const std::size_t end = std::min(preamble.find('\n', at), preamble.size());
    const std::string text(strip(std::string_view(preamble).substr(at, end - at)));
    next = end + 1;
    std::smatch match;
    if (text.empty() || text[0] != '#') continue;
    if (text.size() > kLongLine || !std::regex_match(text, match, known) || !is_balanced(text))
      return "preamble has a directive that is not read";
    if (match[2].matched) out.macros.insert(match[2]);
    if (match[1] == "include") blank(preamble, at, end);
  }
  if (main.find('#') != std::string::npos) return "main has a directive";
  const auto of_preamble = tokens_of(preamble, 0, preamble.size());
  const auto of_main = tokens_of(main, 0, main.size());
  out.using_std = has_at_top(of_preamble, {"using", "namespace", "std", ";"});
  if (!has_at_top(of_main, {"main", "(", ")"}) && !has_at_top(of_main, {"main", "(", "void", ")"}))
    return "main() has parameters or is missing";
  out.words = words_of(of_preamble);
  out.words.merge(words_of(of_main));
  // A name without C++'s decoration may be one that starts a program.
  const std::string word = out.words.count("extern") ? "extern" : forbidden_word(out.words);
  if (!word.empty()) return "preamble or main has `" + word + "`";
  return "";
}

void read_one(const Decomposition& decomposition, const Around& around, std::size_t l, int index,
              const std::string& code, CppImplementation& out) {
  std::string blanked = records::blank_literals(code), text = code;
  const Function& function = decomposition.functions[l];
  auto refuse = [&](const std::string& why) {
    out.why = "an implementation of `" + function.name + "` " + why;
  };
  if (is_unclear(code, blanked)) return refuse("is not read");
  if (!drop_repeated(text, blanked, around.all_headers, around.using_std))
    return refuse("has directives of its own");
  out.words = words_of(tokens_of(blanked, 0, blanked.size()));
  if (!is_balanced(blanked)) {
    out.part = CppPart::kUnbalanced;
    return;
  }
  const std::string word = forbidden_word(out.words);
  if (!word.empty()) return refuse("has `" + word + "`");
  int own = 0;
  for (const Item& item : items_of(blanked)) {
    Head head;
    if (item.body && read_head(blanked, item, head)) {
      if (head.name != function.name) {
        out.names.insert(head.name);
        continue;
      }
      ++own;
      out.type = head.result + "(";
      for (std::size_t i = 0; i < head.types.size(); ++i) out.type += (i ? "|" : "") + head.types[i];
      if (!head.plain) return refuse("is static, inline or constexpr");
    } else if (!read_variable(blanked, item, out.names) && !read_type(blanked, item, out.names)) {
      return refuse("has more than plain functions, structures and numbers at its top");
    }
  }
  if (own != 1) return refuse("does not define it once, as a plain function");
  for (const Function& other : decomposition.functions)
    if (other.name != function.name && out.names.count(other.name))
      return refuse("defines `" + other.name + "` too");
  if (share_any(out.names, around.words)) return refuse("defines a name of preamble or main");
  Words names = out.names;
  names.insert(function.name);
  if (names.count("main")) return refuse("defines main");
  out.text = renamed(text, blanked, names, index);
  out.part = CppPart::kShared;
}

}  // namespace

std::string cpp_own_name(const std::string& name, int index) {
  return kCppPrefix + std::to_string(index) + "_" + name;
}

bool share_any(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& word) { return b.count(word) > 0; });
}

CppParts read_cpp(const Decomposition& decomposition) {
  CppParts out;
  Around around;
  out.why = read_around(decomposition, around);
  if (decomposition.functions.size() > 60) out.why = "there are too many functions";
  if (!out.why.empty()) return out;
  Words declared;
  int index = 0;
  for (std::size_t l = 0; l < decomposition.functions.size(); ++l) {
    const Function& function = decomposition.functions[l];
    if (!declared.insert(function.name).second || around.macros.count(function.name)) {
      out.why = "`" + function.name + "` is declared twice or a macro";
      return out;
    }
    out.functions.emplace_back(function.implementations.size());
    std::map<std::string, int> types;
    for (std::size_t j = 0; j < function.implementations.size(); ++j) {
      CppImplementation& one = out.functions[l][j];
      read_one(decomposition, around, l, ++index, function.implementations[j], one);
      if (one.part == CppPart::kShared) ++types[one.type];
    }
    // Those of another type than most are overloads or do not compile.
    const auto usual = std::max_element(types.begin(), types.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    for (CppImplementation& one : out.functions[l]) {
      if (one.part == CppPart::kShared && one.type != usual->first) {
        one.part = CppPart::kWhole;
        one.why = "implementations of `" + function.name + "` differ in type";
      }
      const std::string word = changing_word(one.words);
      if (!word.empty() && one.part == CppPart::kShared) out.tree = "an implementation has `" + word + "`";
    }
  }
  const std::string word = changing_word(around.words);
  if (!word.empty()) out.tree = "preamble or main has `" + word + "`";
  return out;
}

}  // namespace leap::decomp
