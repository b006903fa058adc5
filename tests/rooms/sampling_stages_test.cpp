#include <catch2/catch.hpp>
#include <set>

#include "base/error.hpp"
#include "sampling/stages.hpp"

using Catch::Matchers::Contains;
using leap::Json;
using leap::RecordError;
using namespace leap::sampling;

namespace {

Json problem(const char* check, Json prompt = "Add the numbers.") {
  return {{"id", "p"},
          {"prompt", std::move(prompt)},
          {"task", {{"language", "python"}, {"entry_point", "total"}, {"check", {{"type", check}}}}}};
}

Json function(const char* name, const char* doc) {
  return {{"name", name}, {"signature", std::string("def ") + name + "(x: int) -> int"}, {"doc", doc}};
}

Plan plan(const Json& record, Stage stage, std::uint64_t count = 2, const std::string& form = "") {
  static const Prompts prompts{PromptOptions{}};
  StageOptions options;
  options.stage = stage;
  options.form = form;
  return plan_of(record, options, count, 7, prompts);
}

std::vector<std::vector<Json>> turns(const Plan& plan, const std::string& text) {
  std::vector<std::vector<Json>> results;
  for (const Request& request : plan.requests)
    results.emplace_back(request.keys.size(), Json{{"completion", text}, {"finish_reason", "stop"}});
  return results;
}

}  // namespace

TEST_CASE("decompositions: the template stands around the problem", "[sampling]") {
  const Plan raw = plan(problem("stdio"), Stage::kDecompose);
  REQUIRE(raw.requests.size() == 1);
  CHECK(raw.requests[0].keys.size() == 2);
  const auto text = raw.requests[0].prompt.get<std::string>();
  CHECK_THAT(text, Contains("\nAdd the numbers.\n") && Contains("`main() -> None`: it reads"));
  CHECK_THAT(text, !Contains("one of them is `total`") && !Contains("@stdin") && !Contains("{"));

  Json messages = Json::array({Json{{"role", "system"}, {"content", "Be brief."}},
                               Json{{"role", "user"}, {"content", "Add {language}."}}});
  const Plan chat = plan(problem("call", messages), Stage::kDecompose);
  const Json& made = chat.requests[0].prompt;
  CHECK(made[0] == messages[0]);
  CHECK_THAT(made[1]["content"].get<std::string>(), Contains("Add {language}.") &&
                                                        Contains("one of them is `total`") &&
                                                        Contains("1 to 6 functions"));

  Json record = problem("call");
  raw.attach(record, turns(raw, "x"));
  REQUIRE(record["decompositions"].size() == 2);
  CHECK(record["decompositions"][1].dump() == R"({"completion":"x","finish_reason":"stop"})");
  CHECK_FALSE(wants(record, Stage::kDecompose));
  CHECK(plan(problem("call"), Stage::kDecompose, 1, "@call {entry_point}!\n@stdin no\n").requests[0].prompt ==
        "total!");
}

TEST_CASE("implementations: problem, stubs and target; code without the starter", "[sampling]") {
  Json record = problem("stdio");
  record["task"]["starter"] = "import os\n";
  Json done = function("b", "Says \"b\"");
  done["implementations"] = Json::array({Json{{"code", "b"}}});
  record["decompositions"] = Json::array(
      {Json{{"completion", "?"}, {"error", "line 1: no function"}},
       Json{{"preamble", "import math"},
            {"functions", Json::array({function("a", "Twice x.\nNot \\n."), done, function("c", "")})},
            {"main", "print(a(1))"}}});
  CHECK(wants(record, Stage::kImplement));
  const Plan made = plan(record, Stage::kImplement, 3);
  REQUIRE(made.requests.size() == 2);
  const auto text = made.requests[0].prompt.get<std::string>();
  CHECK_THAT(text, Contains("Add the numbers.") && Contains("Write the function `a`:"));
  CHECK_THAT(
      text,
      Contains("import math\n\ndef a(x: int) -> int:\n    r\"\"\"Twice x.\n    Not \\n.\"\"\"\n    ...\n\n"
               "def b(x: int) -> int:\n    '''Says \"b\"'''\n    ...\n\ndef c(x: int) -> int:\n    ...\n\n"
               "print(a(1))\n```"));
  CHECK_THAT(made.requests[1].prompt.get<std::string>(), Contains("Write the function `c`:"));

  made.attach(record, turns(made, "Here:\n```python\ndef f():\n    pass\n```\n"));
  const Json& functions = record["decompositions"][1]["functions"];
  CHECK(functions[0]["implementations"].size() == 3);
  CHECK(functions[0]["implementations"][2]["code"] == "def f():\n    pass\n");
  CHECK(functions[1]["implementations"].size() == 1);
  CHECK_FALSE(record["decompositions"][0].contains("functions"));
  CHECK_FALSE(wants(record, Stage::kImplement));
}

TEST_CASE("every draw of every stage has a key of its own", "[sampling]") {
  Json record = problem("call");
  record["decompositions"] = Json::array();
  std::set<std::uint64_t> keys;
  std::size_t count = 0;
  const auto collect = [&](const Plan& made) {
    for (const Request& request : made.requests) {
      keys.insert(request.keys.begin(), request.keys.end());
      count += request.keys.size();
    }
  };
  collect(plan(record, Stage::kTurns, 8));
  collect(plan(record, Stage::kDecompose, 8));
  for (int i = 0; i < 3; ++i) {
    record["decompositions"].push_back(
        Json{{"functions", Json::array({function("a", "A."), function("b", "B.")})}});
  }
  collect(plan(record, Stage::kImplement, 8));
  CHECK(count == 8 + 8 + 48);
  CHECK(keys.size() == count);
}

TEST_CASE("C++ stubs are declarations under their comments", "[sampling]") {
  const Json decomposition = {
      {"preamble", "#include <vector>\n"},
      {"functions",
       Json::array({Json{{"name", "f"}, {"signature", "int f(int x)"}, {"doc", "Twice x.\nAlways."}}})},
      {"main", nullptr}};
  CHECK(stubs_of(decomposition, "cpp") == "#include <vector>\n\n// Twice x.\n// Always.\nint f(int x);");
  Json declared = decomposition;
  declared["preamble"] = "// Twice x.\nint f(int  x);\n// Prints.\nint main();\n";
  CHECK(stubs_of(declared, "cpp") == "// Twice x.\nint f(int  x);\n// Prints.\nint main();");
}

TEST_CASE("what cannot be sampled says why", "[sampling]") {
  Json cuda = problem("stdio");
  cuda["task"]["language"] = "cuda";
  CHECK_THROWS_WITH(plan(cuda, Stage::kDecompose), Contains("task.language"));
  Json ids = problem("stdio", nullptr);
  ids["prompt_ids"] = Json::array({1, 2});
  CHECK_THROWS_WITH(plan(ids, Stage::kDecompose), Contains("prompt: missing"));
  CHECK_THROWS_WITH(
      plan(problem("stdio", Json::array({Json{{"role", "system"}, {"content", "x"}}})), Stage::kDecompose),
      Contains("no message is the user's"));
  Json unsplit = problem("stdio");
  unsplit["decompositions"] = Json::array({Json{{"completion", "x"}}});
  CHECK_THROWS_WITH(wants(unsplit, Stage::kImplement), Contains("decompositions[0].functions: missing"));
  unsplit["decompositions"] = Json{{"a", 1}};
  CHECK_THROWS_WITH(wants(unsplit, Stage::kDecompose), Contains("decompositions: must be an array"));
}
