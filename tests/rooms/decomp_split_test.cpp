#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "decomp/diagnostics.hpp"
#include "decomp/split.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using leap::Json;
using namespace leap::decomp;

namespace {

Splitter& splitter() {
  static Splitter it{SplitOptions{}};
  return it;
}

Json record(const std::string& code, const char* check = "stdio", const char* language = "python") {
  return {{"id", "a"},
          {"task", {{"language", language}, {"entry_point", "solve"}, {"check", {{"type", check}}}}},
          {"decompositions", Json::array({Json{{"completion", code}}})}};
}

Json split(const std::string& code, const char* check = "stdio", const char* language = "python") {
  Json made = record(code, check, language);
  splitter().split(made);
  return made["decompositions"][0];
}

std::string error(const std::string& code, const char* check = "stdio", const char* language = "python") {
  const Json made = split(code, check, language);
  CHECK(made["functions"].empty());
  REQUIRE(made["error"].is_string());
  return made["error"];
}

std::vector<std::string> names(const Json& decomposition) {
  std::vector<std::string> out;
  for (const Json& function : decomposition["functions"]) out.push_back(function["name"]);
  return out;
}

}  // namespace

TEST_CASE("Python: stubs, what stands before them, and main", "[decomp]") {
  const Json made = split(
      "Sure:\n```python\nimport sys\nLIMIT = 3\n\n# the first\ndef read() -> list[int]:\n    \"\"\"Reads.\n\n"
      "    Sorted.\"\"\"\n    ...\n\n# the second\n@keep\nasync def most(x: list[int], *, k: int = 3) -> "
      "int:\n"
      "    'Takes what `read` gives.'\n    pass\n\nNAMES = '''\n# kept\n'''\n\ndef main():\n    "
      "print(most(read()))\n"
      "```\nDone.");
  CHECK(made["error"].is_null());
  CHECK(names(made) == std::vector<std::string>{"read", "most"});
  CHECK(made["preamble"] == "import sys\nLIMIT = 3\n\n# the first");
  CHECK(made["main"] == "NAMES = '''\n# kept\n'''\n\ndef main():\n    print(most(read()))\n\nmain()");
  const Json& most = made["functions"][1];
  CHECK(most["signature"] == "@keep\nasync def most(x: list[int], *, k: int=3) -> int");
  CHECK(most["doc"] == "Takes what `read` gives.");
  CHECK(most["calls"] == Json::array({"read"}));
  CHECK(made["functions"][0]["doc"] == "Reads.\n\nSorted.");
}

TEST_CASE("Python: main as a stub is a function, and is called", "[decomp]") {
  const Json made = split("def a():\n  'A.'\ndef main():\n  'Prints a().'\n  raise NotImplementedError\n");
  CHECK(names(made) == std::vector<std::string>{"a", "main"});
  CHECK(made["main"] == "main()");
  const Json guarded = split("def main():\n  'M.'\nif __name__ == '__main__':\n  main()\n");
  CHECK(guarded["main"] == "if __name__ == '__main__':\n  main()");
  CHECK(split("def solve(n):\n  'S.'\n", "call")["main"] == "");
  CHECK(names(split("def f(n):\n  'S.'\nclass Solution:\n  def solve(self, n):\n    return f(n)\n", "call"))
            .size() == 1);
}

TEST_CASE("where all functions have bodies, they are declared and the bodies dropped", "[decomp]") {
  const Json python = split(
      "import os\n\ndef f(x: int) -> int:\n    'Twice x.'\n    return x * 2\n\ndef g(x):\n    'Uses f.'\n    "
      "return f(x)\n\n"
      "def main():\n    print(g(1))\n");
  CHECK(python["error"].is_null());
  CHECK(names(python) == std::vector<std::string>{"f", "g"});
  CHECK(python["functions"][1]["calls"] == Json::array({"f"}));
  CHECK(python["preamble"] == "import os");
  CHECK(python["main"] == "def main():\n    print(g(1))\n\nmain()");
  const Json cpp = split(
      "#include <cstdio>\n// Twice x.\nint f(int x) { return 2 * x; }\n// Four times x.\nint g(int x)\n{\n  "
      "return f(f(x));\n}\n"
      "int main() { printf(\"%d\", g(1)); }\n",
      "stdio", "cpp");
  CHECK(names(cpp) == std::vector<std::string>{"f", "g"});
  CHECK(cpp["preamble"] == "#include <cstdio>\n// Twice x.\nint f(int x);\n// Four times x.\nint g(int x);");
  CHECK(cpp["main"] == "int main() { printf(\"%d\", g(1)); }");
}

TEST_CASE("Python: what is wrong, and where", "[decomp]") {
  CHECK(error("def f(:\n") == "line 1: syntax error: invalid syntax");
  CHECK(error("```python\nx = 1\n\nreturn x\n```\n") == "line 3: syntax error: 'return' outside function");
  CHECK(error("") == "line 1: the completion holds no code");
  CHECK(error("I cannot.") == "line 1: syntax error: invalid syntax");
  CHECK(error("x = 1\n") == "line 1: no function is declared");
  CHECK(error("\n\ndef f(x):\n    return x\nprint(f(1))") == "line 3: `f` has no docstring");
  CHECK(error("def main():\n    print(1)\n") == "line 1: no function is declared");
  CHECK(error("def f(x):\n    ...\n") == "line 1: `f` has no docstring");
  CHECK(error("def f(x):\n    'a'\n\ndef f(y):\n    'b'\n") == "line 4: `f` is declared twice");
  CHECK(error("def f(x):\n    'a'\ndef f(y):\n    return 2\n") == "line 3: `f` is declared and defined");
  CHECK_THAT(error("def f(x):\n    'a'\n    ...\n"), StartsWith("line 3: no entry point"));
  CHECK_THAT(error("def g(x):\n    'a'\n", "call"), StartsWith("line 1: no entry point: `solve` is missing"));
  CHECK_THAT(error("def f():\n  'a'\nclass T:\n  def g(self):\n    ...\nprint(f())"),
             StartsWith("line 4: `g` of class T has no body"));
  std::string seven;
  for (char c : std::string("abcdefg")) seven += std::string("def ") + c + "():\n  'd'\n";
  CHECK(error(seven) == "line 13: 7 functions are declared, at most 6 may be");
  CHECK(names(split(seven.substr(15) + "print(a())")).size() == 6);
}

TEST_CASE("a circle of calls is an error unless recursion is meant", "[decomp]") {
  const std::string two = "def a():\n  'Calls b().'\ndef b():\n  'Uses `a`.'\nprint(a())";
  CHECK_THAT(error(two), StartsWith("line 1: `a`, `b` call each other in a circle"));
  std::string meant = two;
  meant.replace(two.find("Uses"), 4, "Recursively,");
  CHECK(split(meant)["error"].is_null());
  CHECK(split("def a():\n  'Calls a().'\nprint(a())")["functions"][0]["calls"] == Json::array({"a"}));
  CHECK(split("def a():\n  'Like b, calls none.'\ndef b():\n  'Calls: a'\nprint(b())")["error"].is_null());
}

TEST_CASE("hostile completions are errors of their decomposition alone", "[decomp]") {
  Json made = record(std::string(100000, '('));
  for (const char* code :
       {"x = 1\0", "def f():\n  '\\ud800'\nprint(f())", "def f():\r  'old'\rprint(f())", "\xef\xbb\xbf"}) {
    made["decompositions"].push_back(Json{{"code", code}});
  }
  made["decompositions"].push_back(Json{{"code", "x = " + std::string(200000, '-') + "1"}});
  made["decompositions"].push_back(Json::object());
  made["decompositions"].push_back(Json{{"completion", 3}});
  made["decompositions"].push_back(Json{{"functions", Json::array()}, {"mine", 1}});
  const Json untouched = made["decompositions"].back();
  splitter().split(made);
  const Json& all = made["decompositions"];
  CHECK(all[0]["error"] == "line 1: syntax error: too many nested parentheses");
  CHECK(all[2]["error"].is_null());
  CHECK(all[3]["functions"][0]["doc"] == "old");
  CHECK(all[5]["error"].is_string());
  CHECK(all[6]["error"] == "line 1: the completion holds no code");
  CHECK(all[7]["error"] == "line 1: the completion holds no code");
  CHECK(all[8] == untouched);
  CHECK(is_split(made, SplitOptions{}));

  Json bad = {{"decompositions", 3}};
  CHECK_THROWS_WITH(splitter().split(bad), Contains("decompositions: must be an array"));
  bad = {{"decompositions", Json::array({1})}};
  CHECK_THROWS_WITH(splitter().split(bad), Contains("decompositions[0]: must be an object"));
  bad = record("x", "stdio", "cuda");
  CHECK_THROWS_WITH(splitter().split(bad), Contains("task.language"));
  Json none = {{"id", "a"}};
  splitter().split(none);
  CHECK(none.dump() == R"({"id":"a"})");
}

TEST_CASE("C++: declarations stay in the preamble", "[decomp]") {
  const std::string head =
      "#include <vector>\nusing namespace std;\n\n// Reads n numbers.\nvector<int> read_all(int n = 3);\n"
      "/** Their sum,\n *  of read_all(). */\nlong long total(const vector<int>& v);\n";
  const Json stub = split(head + "// Prints.\nint main();\n", "stdio", "cpp");
  CHECK(stub["error"].is_null());
  CHECK(names(stub) == std::vector<std::string>{"read_all", "total", "main"});
  CHECK(stub["functions"][0]["signature"] == "vector<int> read_all(int n = 3)");
  CHECK(stub["functions"][1]["doc"] == "Their sum,\n of read_all().");
  CHECK(stub["functions"][1]["calls"] == Json::array({"read_all"}));
  const Json whole =
      split("```cpp\n" + head + "struct P {};\nint main() { total(read_all()); }\n```", "stdio", "cpp");
  CHECK(names(whole).size() == 2);
  CHECK(whole["main"] == "int main() { total(read_all()); }");
  CHECK_THAT(whole["preamble"].get<std::string>(), Contains("struct P {};"));

  CHECK_THAT(error(head + "int x", "stdio", "cpp"), StartsWith("line 9: expected ';'"));
  CHECK(error("int f(int x);\nint main() {}", "stdio", "cpp") == "line 1: `f` has no comment above it");
  CHECK(error("int main() {}", "stdio", "cpp") == "line 1: no function is declared");
  CHECK_THAT(error(head, "stdio", "cpp"), Contains("no entry point: `main` is missing"));
  CHECK_THAT(error(head, "call", "cpp"), Contains("no entry point: `solve` is missing"));
  CHECK_THAT(error("// V.\nvector<int> f();\nint main() {}", "stdio", "cpp"), Contains("line 2: "));
}

TEST_CASE("rollouts that define the same functions become decompositions", "[decomp]") {
  SplitOptions options;
  options.from_rollouts = true;
  Splitter own(options);
  const auto rollouts = [](const std::vector<std::string>& codes) {
    Json all = Json::array();
    for (const std::string& code : codes)
      all.push_back(Json{{"turns", Json::array({Json{{"code", "old"}}, Json{{"code", code}}})}});
    return all;
  };
  Json made = {
      {"id", "r"},
      {"task", {{"check", {{"type", "stdio"}}}}},
      {"rollouts",
       rollouts({"import os\nN = 2\ndef f(x):\n    'D.'\n    return x\ndef main():\n    f(N)\nmain()",
                 "import os, re\nN = 2\ndef main():\n    f(1)\ndef f(y):\n    return 2\n"
                 "if __name__ == '__main__':\n    main()",
                 "def f(x):\n    return 3\n", "def f(", "print(1)"})}};
  own.split(made);
  REQUIRE(made["decompositions"].size() == 1);
  const Json& one = made["decompositions"][0];
  CHECK(one["from_rollouts"] == Json::array({0, 1}));
  CHECK(one["preamble"] == "import os\nimport os, re\nN = 2");
  CHECK(one["main"] == "main()");
  CHECK(names(one) == std::vector<std::string>{"f", "main"});
  CHECK(one["functions"][0]["implementations"][1].dump() ==
        R"({"code":"def f(y):\n    return 2","rollout":1})");
  CHECK(one["functions"][1]["calls"] == Json::array({"f"}));
  CHECK(is_split(made, options));
  const Json before = made;
  own.split(made);
  CHECK(made == before);

  Json cpp = {
      {"id", "c"},
      {"task", {{"language", "cpp"}, {"check", {{"type", "stdio"}}}}},
      {"rollouts",
       rollouts({"#include <cstdio>\nint f(int x) { return x; }\nint main() { f(1); }",
                 "#include <cmath>\n#include <cstdio>\nint f(int x) { return 2; }\nint main() { f(2); }"})}};
  own.split(cpp);
  CHECK(cpp["decompositions"][0]["preamble"] == "#include <cstdio>\n#include <cmath>\nint f(int x);");
  CHECK(cpp["decompositions"][0]["functions"][1]["implementations"][1]["code"] == "int main() { f(2); }");

  Json none = {{"id", "n"}, {"rollouts", rollouts({"x = 1"})}};
  CHECK_FALSE(is_split(none, options));
  own.split(none);
  CHECK(none["decompositions"].empty());
  CHECK(is_split(none, options));
}

TEST_CASE("figures of a line and of many", "[decomp]") {
  const auto tokens = [](int n) { return Json(std::vector<int>(static_cast<std::size_t>(n), 7)); };
  const auto function = [&](const char* a, const char* b) {
    return Json{{"name", "f"},
                {"implementations", Json::array({Json{{"code", a}, {"completion_ids", tokens(5)}},
                                                 Json{{"code", b}, {"completion_ids", tokens(5)}}})}};
  };
  Json first = {{"decompositions",
                 Json::array({Json{{"completion_ids", tokens(10)},
                                   {"functions", Json::array({function("x", "y"), function("z", "z")})},
                                   {"recombination", {{"solved", 0}, {"functions_used", nullptr}}}},
                              Json{{"completion_ids", tokens(10)}, {"error", "line 1: no"}},
                              Json{{"functions", Json::array({function("x", "x")})},
                                   {"recombination", {{"solved", 2}, {"functions_used", 1}}}}})}};
  first["rollouts"] = Json::array(
      {Json{{"turns", Json::array({Json{{"completion_ids", tokens(20)}, {"verdict", {{"status", "ok"}}}}})}},
       Json{{"turns", Json::array({Json{{"code", ""}, {"verdict", {{"status", "ok"}}}}})},
            {"recombined", {}}}});
  CHECK(
      Diagnostics::line(first).dump() ==
      R"({"decompositions":3,"unparsed":1,"mean_functions":1.5,"mean_functions_used":1.0,"single":1,"single_used":1,)"
      R"("implementations":6,"distinct_implementations":4,"tokens":50,"solved":true,)"
      R"("rollouts":{"count":1,"solved":true,"tokens":20}})");
  Diagnostics all;
  all.add(first);
  Json second = first;
  second["decompositions"].erase(2);
  second.erase("rollouts");
  all.add(second);
  const Json made = all.json();
  CHECK(made["share_unparsed"] == 0.4);
  CHECK(made["solve_rate"]["decompositions"].dump() ==
        R"([{"attempts":1,"tokens":30.0,"rate":0.0},{"attempts":2,"tokens":40.0,"rate":0.0},)"
        R"({"attempts":3,"tokens":45.0,"rate":0.5}])");
  CHECK(made["format_tax"] == 1.0);
}
