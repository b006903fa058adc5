#include "records/code.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <vector>

#include "base/text.hpp"
#include "records/records.hpp"

namespace leap::records {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string language_of(const Json& task) {
  const std::string_view language = text_of(task, "language");
  return std::string(language.empty() ? "python" : language);
}

bool starts_with_word(std::string_view line, std::string_view word) {
  return line.substr(0, word.size()) == word && (line.size() == word.size() || !is_word(line[word.size()]));
}

std::string drop_thoughts(std::string_view text) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  std::string out;
  std::size_t from = 0, open = text.find(kOpen);
  while (true) {
    if (open != std::string_view::npos && open < from) open = text.find(kOpen, from);
    const std::size_t close = text.find(kClose, from);
    if (close == std::string_view::npos) {
      // A thought that was cut off is all there is; the tag inside other text is text.
      const bool cut_off = open != std::string_view::npos;
      if (cut_off && strip(out + std::string(text.substr(from, open - from))).empty()) return "";
      return out.append(text.substr(from));
    }
    if (open < close)
      out.append(text.substr(from, open - from));
    else
      out.clear();  // the prompt opened the thought
    from = close + kClose.size();
  }
}

struct Fence {
  char mark = 0;
  std::size_t length = 0, indent = 0;
  std::string tag;  ///< first word of the info string, lower case
};

/// Is `line` a fence? Three or more back-quotes or tildes; the info string holds no back-quote.
bool read_fence(std::string_view line, Fence& fence) {
  std::size_t i = line.find_first_not_of(" \t");
  if (i == std::string_view::npos || (line[i] != '`' && line[i] != '~')) return false;
  fence.indent = i;
  fence.mark = line[i];
  std::size_t end = line.find_first_not_of(fence.mark, i);
  if (end == std::string_view::npos) end = line.size();
  fence.length = end - i;
  if (fence.length < 3) return false;
  const std::string_view info = strip(line.substr(end));
  if (info.find('`') != std::string_view::npos) return false;
  fence.tag.clear();
  for (char c : info) {
    if (c == '{' || c == '.') continue;
    if (c == ' ' || c == '\t' || c == ',' || c == '}' || c == ':') break;
    fence.tag += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return true;
}

bool tag_is(const std::string& tag, std::string_view language) {
  if (tag.empty()) return false;
  if (language == "python") return tag == "py" || tag.rfind("python", 0) == 0 || tag == "ipython";
  if (language == "cuda" && (tag.rfind("cu", 0) == 0)) return true;
  if (language == "cpp" || language == "cuda")
    return tag.rfind("cpp", 0) == 0 || tag.rfind("c++", 0) == 0 || tag == "cc" || tag == "cxx" || tag == "c";
  return tag == language;
}

/// Does `text` begin as a program does, rather than as prose?
bool looks_like_code(std::string_view text, std::string_view language) {
  for (std::string_view line : split_lines(text)) {
    if (strip(line).empty()) continue;
    if (line[0] == ' ' || line[0] == '\t') return true;
    static const std::regex python(
        R"(^(def|class|import|return|for|while|if|try|with|async|print|assert)\b.*|^from\s+[\w.]+\s+import\b.*|^[@#].*|^[\w., \[\]]+\s*[-+*/|&]?=[^=].*|^""".*)");
    static const std::regex cpp(
        R"(^(#|//|/\*|\}|template\b|using\b|namespace\b|struct\b|class\b|static\b).*|.*[;{]\s*$)");
    const std::string head(line.substr(0, 200));
    return std::regex_match(head, language == "python" ? python : cpp);
  }
  return false;
}

bool defines_cpp(std::string_view code, std::string_view name) {
  const std::string text = blank_literals(code);
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    std::size_t i = text.find_first_not_of(" \t\n\r", at + name.size());
    if (i == std::string::npos || text[i] != '(') continue;
    // A return type goes before the name: a word other than return, or the end of one.
    std::size_t before = text.find_last_not_of(" \t\n\r", at == 0 ? std::string::npos : at - 1);
    if (at == 0 || before == std::string::npos) continue;
    if (!is_word(text[before]) && text[before] != '>' && text[before] != '&' && text[before] != '*') continue;
    std::size_t word = before + 1;
    while (word > 0 && is_word(text[word - 1])) --word;
    const std::string_view previous = std::string_view(text).substr(word, before + 1 - word);
    if (previous == "return" || previous == "else" || previous == "throw" || previous == "new") continue;
    int depth = 0;
    for (; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) break;
    }
    i = text.find_first_of("{;", i);
    if (i != std::string::npos && text[i] == '{') return true;
  }
  return false;
}

bool defines_python(std::string_view code, std::string_view name) {
  bool in_solution = false;
  for (std::string_view line : split_lines(code)) {
    const std::string_view text = strip(line);
    if (text.empty() || text[0] == '#') continue;
    const bool top = line[0] != ' ' && line[0] != '\t';
    std::string_view rest = text;
    if (top)
      in_solution = starts_with_word(text, "class") && starts_with_word(strip(text.substr(5)), "Solution");
    if (starts_with_word(rest, "async")) rest = strip(rest.substr(5));
    if ((top || in_solution) && starts_with_word(rest, "def") &&
        starts_with_word(strip(rest.substr(3)), name))
      return true;
    if (!top) continue;
    if (starts_with_word(text, "class") && starts_with_word(strip(text.substr(5)), name)) return true;
    if ((starts_with_word(text, "import") || starts_with_word(text, "from"))) {
      for (std::size_t at = text.find(name, 1); at != std::string_view::npos; at = text.find(name, at + 1))
        if (!is_word(text[at - 1]) && text[at - 1] != '.' &&
            (at + name.size() == text.size() || !is_word(text[at + name.size()])))
          return true;
    }
    if (starts_with_word(text, name)) {
      const std::string_view after = strip(text.substr(name.size()));
      if (!after.empty() && (after[0] == '=' || after[0] == ':') && after.substr(0, 2) != "==") return true;
    }
  }
  return false;
}

/// The import statements of a starter, each with all of its lines.
std::vector<std::string> imports_of(std::string_view starter, std::string_view language) {
  std::vector<std::string> out;
  const auto lines = split_lines(starter);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (language != "python") {
      const std::string_view text = strip(line);
      if (text.rfind("#include", 0) == 0 || (text.rfind("using ", 0) == 0 && text.back() == ';'))
        out.emplace_back(text);
      continue;
    }
    if (!starts_with_word(line, "import") && !starts_with_word(line, "from")) continue;
    if (line[0] == 'f' && line.find("import") == std::string_view::npos) continue;
    std::string statement(line);
    auto open = [&] {
      return std::count(statement.begin(), statement.end(), '(') >
                 std::count(statement.begin(), statement.end(), ')') ||
             statement.back() == '\\';
    };
    while (open() && i + 1 < lines.size()) statement.append("\n").append(lines[++i]);
    out.push_back(statement);
  }
  return out;
}

/// Number of lines of `code` up to and including its last `from __future__` import.
int future_lines(std::string_view code) {
  int last = 0, number = 0;
  for (std::string_view line : split_lines(code)) {
    ++number;
    if (line.rfind("from __future__", 0) == 0) last = number;
  }
  return last;
}

}  // namespace

std::string blank_literals(std::string_view code) {
  std::string out(code);
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::size_t end = i;
    if (code.substr(i, 2) == "//") {
      end = code.find('\n', i);
    } else if (code.substr(i, 2) == "/*") {
      end = code.find("*/", i + 2);
      if (end != std::string_view::npos) end += 2;
    } else if (code[i] == '"' || (code[i] == '\'' && (i == 0 || !is_word(code[i - 1])))) {
      end = i + 1;
      while (end < code.size() && code[end] != code[i] && code[end] != '\n') end += code[end] == '\\' ? 2 : 1;
      ++end;
    } else {
      continue;
    }
    end = std::min(end, code.size());
    for (std::size_t k = i; k < end; ++k)
      if (out[k] != '\n') out[k] = ' ';
    i = end - 1;
  }
  return out;
}

int Code::own_line(int line) const {
  if (line <= added_at) return line;
  return line <= added_at + added ? 0 : line - added;
}

std::string extract(std::string_view completion, std::string_view language) {
  const std::string text = drop_thoughts(completion);
  const auto lines = split_lines(text);
  struct Block {
    std::string tag, body;
    std::size_t first;
    bool closed;
  };
  std::vector<Block> blocks;
  bool inside = false;
  Fence open, fence;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (read_fence(lines[i], fence)) {
      if (inside && fence.mark == open.mark && fence.length >= open.length && fence.tag.empty()) {
        blocks.back().closed = true;
        inside = false;
        continue;
      }
      // A bare fence before a tagged one closed what the prompt had opened.
      if (inside && open.tag.empty() && !fence.tag.empty() && blocks.size() == 1) {
        blocks.clear();
        inside = false;
      }
      if (!inside) {
        inside = true;
        open = fence;
        blocks.push_back({fence.tag, "", i, false});
        continue;
      }
    }
    if (!inside) continue;
    std::string_view line = lines[i];
    std::size_t cut = 0;
    while (cut < open.indent && cut < line.size() && (line[cut] == ' ' || line[cut] == '\t')) ++cut;
    blocks.back().body.append(line.substr(cut)).append("\n");
  }
  const Block* best = nullptr;
  for (const Block& block : blocks)
    if (block.closed && (tag_is(block.tag, language) || !best || !tag_is(best->tag, language))) best = &block;
  if (best) return best->body;
  if (!blocks.empty()) {
    Block& block = blocks.back();
    std::string before;
    for (std::size_t i = 0; i < block.first; ++i) before.append(lines[i]).append("\n");
    const bool orphan = block.tag.empty() && !strip(before).empty() &&
                        (strip(block.body).empty() || looks_like_code(before, language));
    if (orphan) return before;
    std::string_view body = block.body;
    while (!body.empty() && std::isspace(static_cast<unsigned char>(body.back()))) body.remove_suffix(1);
    if (body.size() >= 3 && body.substr(body.size() - 3) == "```")
      return std::string(body.substr(0, body.size() - 3));
    return block.body;
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (read_fence(lines[i], fence) && fence.tag.empty()) {
      return text.substr(0, static_cast<std::size_t>(lines[i].data() - text.data()));
    }
  return text;
}

bool defines(std::string_view code, std::string_view name, std::string_view language) {
  if (name.empty()) return true;
  return language == "python" ? defines_python(code, name) : defines_cpp(code, name);
}

Code with_starter(std::string code, const Json& task) {
  Code out;
  out.text = std::move(code);
  const auto starter_field = task.find("starter");
  if (starter_field == task.end() || !starter_field->is_string() || strip(out.text).empty()) return out;
  const std::string& starter = starter_field->get_ref<const std::string&>();
  const std::string language = language_of(task);
  const std::string_view name = text_of(task, "entry_point");
  if (!defines(out.text, name, language)) {
    const char last = starter.empty() ? '\n' : starter.back();
    const bool apart = last == ':' || last == '{' || last == '}' || last == ';' || last == '"';
    out.text = starter + (apart && out.text[0] != '\n' ? "\n" : "") + out.text;
    return out;
  }
  std::string prefix;
  for (const std::string& statement : imports_of(starter, language)) {
    bool there = false;
    if (statement.find('\n') == std::string::npos)
      for (std::string_view line : split_lines(out.text)) there = there || (line == statement);
    if (!there) prefix += statement + "\n";
  }
  if (prefix.empty()) return out;
  out.added = static_cast<int>(std::count(prefix.begin(), prefix.end(), '\n'));
  out.added_at = language == "python" ? future_lines(out.text) : 0;
  std::size_t at = 0;
  for (int i = 0; i < out.added_at; ++i) at = out.text.find('\n', at) + 1;
  if (out.added_at > 0 && at == 0) {  // the last line has no newline
    out.text += "\n";
    at = out.text.size();
  }
  out.text.insert(at, prefix);
  return out;
}

Code code_of_turn(const Json& turn, const Json& task) {
  const auto code = turn.find("code");
  if (code != turn.end() && code->is_string()) return with_starter(code->get<std::string>(), task);
  const auto completion = turn.find("completion");
  if (completion == turn.end() || !completion->is_string()) return {};
  return with_starter(extract(completion->get_ref<const std::string&>(), language_of(task)), task);
}

std::string code_of(const Json& turn, const Json& task) {
  return code_of_turn(turn, task).text;
}

}  // namespace leap::records
