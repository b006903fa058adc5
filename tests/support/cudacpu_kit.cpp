// The room cudacpu from the command line, for tests and benchmarks: toolchain DIR | translate SOURCE ARCH |
// commands prepare RECIPE | commands compile RECIPE SOURCE OBJECT | commands link RECIPE PROGRAM OBJECT.. |
// needs SOURCE | version. RECIPE: fast or checked, with _all (headers) and _lines.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cudacpu/cudacpu.hpp"
#include "cudacpu/needs.hpp"

using namespace leap::cudacpu;

namespace {

Recipe recipe_of(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return {has("checked") ? Build::kChecked : Build::kFast, has("_all"), has("_lines")};
}

std::string base_name(const Recipe& recipe) {
  return recipe.build == Build::kChecked ? "checked_base.o" : "fast_base.o";
}

void print(const std::vector<std::string>& command) {
  for (const std::string& word : command) std::cout << word << '\t';
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return 2;
  if (words[0] == "toolchain") {
    for (const SourceFile& file : toolchain()) {
      const std::filesystem::path path = std::filesystem::path(words.at(1)) / file.path;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << file.text;
    }
  } else if (words[0] == "translate") {
    std::ifstream in(words.at(1));
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    const Translation translation = translate(source, profile(words.size() > 2 ? words[2] : "sm_80"));
    std::cout << translation.text;
    for (const Finding& finding : translation.findings)
      std::cerr << finding.line << ": " << finding.status << ": " << finding.message << '\n';
    return translation.findings.empty() ? 0 : 1;
  } else if (words[0] == "commands" && words.at(1) == "prepare") {
    const Recipe recipe = recipe_of(words.at(2));
    for (const Prepared& one : {header_of(recipe), runtime_of(recipe.build),
                                base_of(recipe.build, {}, base_name(recipe)), link_words()})
      for (const auto& command : one.commands) print(command);
  } else if (words[0] == "commands" && words.at(1) == "compile") {
    print(compile_command(recipe_of(words.at(2)), words.at(3), words.at(4)));
  } else if (words[0] == "commands" && words.at(1) == "link") {
    print(link_command(base_name(recipe_of(words.at(2))), {words.begin() + 4, words.end()}, words.at(3)));
  } else if (words[0] == "needs") {
    std::ifstream in(words.at(1));
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    std::cout << (needs_all_headers(source) ? "all_headers " : "")
              << (needs_front_end(source) ? "front_end" : "") << '\n';
  } else if (words[0] == "version") {
    std::cout << version() << '\n';
  } else {
    return 2;
  }
}
