#include "verify/cpp.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

#include "base/text.hpp"
#include "records/code.hpp"

namespace leap::verify {

extern const char kDriver[];
extern const char kFrames[];

namespace {

struct Signature {
  std::string result;
  std::vector<std::string> types;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Position of `name` followed by a parenthesis, or npos.
std::size_t find_function(const std::string& blanked, const std::string& name) {
  for (std::size_t at = blanked.find(name); at != std::string::npos; at = blanked.find(name, at + 1)) {
    if (at > 0 && is_word(blanked[at - 1])) continue;
    const std::size_t next = blanked.find_first_not_of(" \t\r\n", at + name.size());
    if (next != std::string::npos && blanked[next] == '(') return at;
  }
  return std::string::npos;
}

/// "const std::vector<int>& a = {}" -> "const std::vector<int>&".
std::string type_of_parameter(std::string_view parameter) {
  parameter = strip(parameter.substr(0, parameter.find('=')));
  std::size_t end = parameter.size();
  while (end > 0 && is_word(parameter[end - 1])) --end;
  const std::string_view type = strip(parameter.substr(0, end));
  // A lone word, or one after a qualifier, is a type without a name.
  if (type.empty() || type == "const" || type == "unsigned" ||
      (type.size() > 1 && type.substr(type.size() - 2) == "::"))
    return std::string(parameter);
  return std::string(type);
}

bool read_signature(const std::string& starter, const std::string& name, Signature& out) {
  const std::string text = records::blank_literals(starter);
  const std::size_t at = name.empty() ? std::string::npos : find_function(text, name);
  if (at == std::string::npos) return false;
  std::size_t begin = text.find_last_of("\n;{}", at == 0 ? 0 : at - 1);
  begin = begin == std::string::npos || begin >= at ? 0 : begin + 1;
  std::string result(strip(std::string_view(text).substr(begin, at - begin)));
  for (const char* word : {"public: ", "inline ", "static ", "extern ", "constexpr "})
    if (result.rfind(word, 0) == 0) result.erase(0, std::string_view(word).size());
  if (result.empty()) return false;
  out.result = result;
  const std::size_t open = text.find('(', at);
  int depth = 0;
  std::size_t from = open + 1;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if ((c == ',' && depth == 1) || depth == 0) {
      const std::string_view parameter = strip(std::string_view(text).substr(from, i - from));
      if (!parameter.empty() && parameter != "void") out.types.push_back(type_of_parameter(parameter));
      from = i + 1;
    }
    if (depth == 0) return true;
  }
  return false;
}

/// The preprocessor lines and using directives at the top of a starter.
std::string preamble_of(const std::string& starter) {
  std::string out;
  std::size_t at = 0;
  while (at < starter.size()) {
    std::size_t end = starter.find('\n', at);
    if (end == std::string::npos) end = starter.size();
    const std::string_view line = strip(std::string_view(starter).substr(at, end - at));
    if (line.rfind("#", 0) == 0 || (line.rfind("using ", 0) == 0 && line.back() == ';') ||
        (line.rfind("typedef ", 0) == 0 && line.back() == ';'))
      out.append(line).append("\n");
    at = end + 1;
  }
  return out;
}

bool has_main(const std::string& text) {
  static const std::regex main(R"(\bint\s+main\s*\()");
  return std::regex_search(records::blank_literals(text), main);
}

/// Is `name` a function outside of every brace?
bool is_free_function(const std::string& code, const std::string& name) {
  const std::string text = records::blank_literals(code);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}') --depth;
    if (depth == 0 && text.compare(i, name.size(), name) == 0 && (i == 0 || !is_word(text[i - 1])) &&
        find_function(text.substr(i, name.size() + 200), name) == 0)
      return true;
  }
  return false;
}

/// The candidate's text under its own name and line numbers. The empty line is for a last line that ends in a
/// backslash.
std::string candidate_part(const std::string& code) {
  return "#define main leap_candidate_main\n#line 1 \"solution.cpp\"\n" + code +
         "\n\n#line 1 \"driver.cpp\"\n#undef main\n";
}

std::string address_of(const std::string& code, const std::string& entry_point) {
  static const std::regex solution(R"(\b(class|struct)\s+Solution\b)");
  if (!is_free_function(code, entry_point) && std::regex_search(code, solution))
    return "&Solution::" + entry_point;
  return "&" + entry_point;
}

/// "int a, int b" of a signature with the names leap_p0, leap_p1, ..
std::string parameters_of(const Signature& signature) {
  std::string out;
  for (std::size_t i = 0; i < signature.types.size(); ++i)
    out += (i ? ", " : "") + signature.types[i] + " leap_p" + std::to_string(i);
  return out;
}

}  // namespace

std::string cpp_function(const std::string& starter, const std::string& name, const std::string& body) {
  Signature signature;
  if (!read_signature(starter, name, signature)) return "";
  return preamble_of(starter) + signature.result + " " + name + "(" + parameters_of(signature) + ") { " +
         body + " }\n";
}

std::vector<CppSource> cpp_server(const std::string& code, const std::string& entry_point) {
  // First, where it would come anyway: a header compiled beforehand must be.
  const std::string all = begins_with_all_headers(code) ? "#include <bits/stdc++.h>\n" : "";
  return {{"solution.cpp", all + "#include \"driver.h\"\n" + candidate_part(code) +
                               "void leap_driver_run() { leap_driver::serve(" +
                               address_of(code, entry_point) + "); }\n"},
          {"driver.h", kDriver},
          {"frames.h", kFrames}};
}

std::vector<CppSource> cpp_tester(const std::string& tests, const std::string& call,
                                  const std::string& entry_point, const std::string& starter) {
  Signature signature;
  if (!read_signature(starter, entry_point, signature)) return {};
  if (tests.find("Solution") != std::string::npos) return {};
  std::string names;
  for (std::size_t i = 0; i < signature.types.size(); ++i)
    names += (i ? ", leap_p" : "leap_p") + std::to_string(i);
  const bool own_main = call.empty() && has_main(tests);
  std::string text = own_main ? "#define LEAP_OWN_MAIN\n" : "";
  text += "#include \"driver.h\"\n" + preamble_of(starter) + signature.result + " " + entry_point + "(" +
          parameters_of(signature) + ") { return leap_driver::remote<std::decay_t<" + signature.result +
          ">>(" + names + "); }\n" + "#undef NDEBUG\n#include <cassert>\n";
  if (own_main)
    text += tests + "\n";
  else if (call.empty())
    text += "void leap_driver_run() {\n" + tests + "\n}\n";
  else
    text += tests + "\nvoid leap_driver_run() { " + call + "(" + entry_point + "); }\n";
  return {{"tests.cpp", text}, {"driver.h", kDriver}, {"frames.h", kFrames}};
}

std::vector<CppSource> cpp_together(const std::string& code, const std::string& entry_point,
                                    const std::string& tests, const std::string& call,
                                    const std::string& starter) {
  static const std::regex assert_header(R"(#\s*include\s*<(cassert|assert\.h)>)");
  std::string body = std::regex_replace(tests, assert_header, "") + "\n";
  if (call.empty() && has_main(tests)) {
    // No longer main, it must return a value.
    const std::size_t last = body.rfind('}');
    if (last != std::string::npos) body.insert(last, "return 0; ");
    body = "#define main leap_test_main\n" + body +
           "#undef main\nvoid leap_driver_run() { if (leap_test_main()) leap_driver::fail(); }\n";
  } else if (call.empty()) {
    body = "void leap_driver_run() {\n" + body + "}\n";
  } else {
    body += "void leap_driver_run() { " + call + "(" + entry_point + "); }\n";
  }
  body = "#undef assert\n#define assert(...) ((__VA_ARGS__) ? void() : leap_driver::fail())\n" + body;
  // Where the signature is known the tests come first, out of reach of the candidate's macros.
  Signature signature;
  std::string text = "#define LEAP_TOGETHER\n#include \"driver.h\"\n";
  if (read_signature(starter, entry_point, signature)) {
    text += preamble_of(starter) + signature.result + " " + entry_point + "(";
    for (std::size_t i = 0; i < signature.types.size(); ++i) text += (i ? ", " : "") + signature.types[i];
    text += ");\n#line 1 \"driver.tests\"\n" + body + "#undef assert\n" + candidate_part(code);
  } else {
    text += candidate_part(code) + body;
  }
  return {{"solution.cpp", text}, {"driver.h", kDriver}, {"frames.h", kFrames}};
}

}  // namespace leap::verify
