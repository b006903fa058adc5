#include "decomp/gaming.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <utility>

#include "base/text.hpp"
#include "records/code.hpp"

namespace leap::decomp {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

/// Does `name` stand in the text otherwise than as the call name(..)?
bool may_bind(std::string_view code, std::string_view name) {
  for (std::size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    if (at > 0 && is_word(code[at - 1])) continue;
    std::size_t after = at + name.size();
    if (after < code.size() && is_word(code[after])) continue;
    while (after < code.size() && code[after] == ' ') ++after;
    if (after >= code.size() || code[after] != '(') return true;
    std::string_view before = strip(code.substr(0, at));
    std::size_t word = before.size();
    while (word > 0 && is_word(before[word - 1])) --word;
    before.remove_prefix(word);
    if (before == "def" || before == "class") return true;
  }
  return false;
}

/// May the text put names together when it runs, and bind them?
bool may_compute(std::string_view code) {
  for (const char* word : {"globals", "vars", "locals", "exec", "setattr", "delattr", "__dict__"})
    if (code.find(word) != std::string_view::npos) return true;
  return false;
}

bool defines_cpp(const std::string& code, const std::string& name) {
  if (records::defines(code, name, "cpp")) return true;
  return may_bind(code, name) &&
         std::regex_search(code, std::regex("#[ \t]*define[ \t]+" + name + "(?![A-Za-z0-9_])"));
}

}  // namespace

std::vector<std::vector<bool>> redefinitions(const Decomposition& decomposition, const std::string& language,
                                             Parsers& parsers) {
  std::vector<std::vector<bool>> out;
  Json asked = Json::array();
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t l = 0; l < decomposition.functions.size(); ++l) {
    const Function& function = decomposition.functions[l];
    out.emplace_back(function.implementations.size(), false);
    for (std::size_t j = 0; j < function.implementations.size(); ++j) {
      const std::string& code = function.implementations[j];
      Json names = Json::array();
      const bool computes = language != "cpp" && may_compute(code);
      const auto consider = [&](const std::string& name) {
        if (name == function.name) return;
        if (language == "cpp") {
          out[l][j] = out[l][j] || defines_cpp(code, name);
        } else if (computes || may_bind(code, name)) {
          names.push_back(name);
        }
      };
      consider("main");
      for (const Function& other : decomposition.functions) consider(other.name);
      if (names.empty()) continue;
      asked.push_back({{"code", code}, {"names", std::move(names)}});
      places.emplace_back(l, j);
    }
  }
  if (asked.empty()) return out;
  const Json answer = parsers.ask(language, {{"bind", asked}});
  for (std::size_t i = 0; i < places.size(); ++i) {
    // One that is too much for the parser does not hide the others, nor itself.
    const Json own = answer.is_array() ? answer : parsers.ask(language, {{"bind", Json::array({asked[i]})}});
    const std::size_t at = answer.is_array() ? i : 0;
    out[places[i].first][places[i].second] = !own.is_array() || own.at(at).get<bool>();
  }
  return out;
}

std::string empty_implementation(const std::string& name, const std::string& signature,
                                 const std::string& chosen, const std::string& language) {
  if (language != "cpp") {
    const bool waits = signature.find("async def") != std::string::npos;
    return std::string(waits ? "async def " : "def ") + name + "(*arguments, **named):\n    return None\n";
  }
  // The head of the chosen definition: the signature may not repeat what the declaration says.
  static const std::regex default_value(R"(\s*=[^,()]*(\([^()]*\))?[^,()]*(?=[,)]))");
  std::string head(strip(signature));
  while (!head.empty() && (head.back() == ';' || head.back() == ' ')) head.pop_back();
  if (head.empty()) head = chosen.substr(0, chosen.find('{'));
  head = std::regex_replace(head, default_value, "");
  if (name == "main") return "int main() { return 0; }";
  const bool nothing = std::regex_search(head, std::regex("^\\s*((static|inline)\\s+)*void\\s"));
  return head + (nothing ? " {}" : " { return {}; }");
}

int functions_used(const Decomposition& decomposition, const std::vector<std::string>& signatures,
                   const std::vector<int>& choice, const Json& task, Engine& engine, std::uint64_t& runs,
                   double& cpu_s) {
  const std::string language = language_of(task);
  Decomposition chosen = decomposition;
  for (std::size_t l = 0; l < choice.size(); ++l) {
    std::vector<std::string>& codes = chosen.functions[l].implementations;
    codes = {codes[static_cast<std::size_t>(choice[l])]};
  }
  int used = 0;
  for (std::size_t l = 0; l < choice.size(); ++l) {
    Decomposition changed = chosen;
    Function& function = changed.functions[l];
    function.implementations = {
        empty_implementation(function.name, signatures[l], function.implementations[0], language)};
    const Recombination found = engine.evaluate(changed, task, "", 0);
    runs += found.runs;
    cpu_s += found.cpu_s;
    if (found.solved == 0) ++used;
  }
  return used;
}

}  // namespace leap::decomp
