// The room cudacpu from the command line, for tests and benchmarks: toolchain DIR | translate SOURCE ARCH |
// commands prepare BUILD | commands compile BUILD SOURCE OBJECT | commands link BUILD PROGRAM OBJECT.. |
// version
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cudacpu/cudacpu.hpp"

using namespace leap::cudacpu;

namespace {

Build build_of(const std::string& name) {
  return name == "checked" ? Build::kChecked : Build::kFast;
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
    for (const auto& command : prepare_commands(build_of(words.at(2)))) print(command);
  } else if (words[0] == "commands" && words.at(1) == "compile") {
    print(compile_command(build_of(words.at(2)), words.at(3), words.at(4)));
  } else if (words[0] == "commands" && words.at(1) == "link") {
    print(link_command(build_of(words.at(2)), {words.begin() + 4, words.end()}, words.at(3)));
  } else if (words[0] == "version") {
    std::cout << version() << '\n';
  } else {
    return 2;
  }
}
