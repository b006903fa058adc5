#include "verify/words.hpp"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.hpp"
#include "jsonl/json.hpp"

namespace leap::verify {

std::string seconds(double s) {
  std::string text = Json(s).dump();
  if (text.size() > 2 && text.substr(text.size() - 2) == ".0") text.resize(text.size() - 2);
  return text + " s";
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name ? std::string("SIG") + name : std::to_string(number);
}

double rounded(double value, double parts) {
  return std::round(value * parts) / parts;
}

std::string line_words(const records::Code& code, int line) {
  const int own = code.own_line(line);
  if (line <= 0 || own <= 0) return "";
  std::string_view text = code.text;
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return " at line " + std::to_string(own) + ": `" +
         shorten(to_utf8(strip(text.substr(0, text.find('\n')))), 120) + "`";
}

void indent(const std::string& title, const std::string& text, std::string& out) {
  out += "  " + title + ":\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out.append("    ").append(rest.substr(0, end)).append("\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::string numbered(const std::string& text) {
  int number = 0;
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string head = std::to_string(++number);
    out += std::string(head.size() < 4 ? 4 - head.size() : 0, ' ') + head + "  " +
           to_utf8(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

}  // namespace leap::verify
