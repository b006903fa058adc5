#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"
#include "decomp/gaming.hpp"
#include "decomp/recombine.hpp"

using Catch::Matchers::Contains;
using leap::Json;
using namespace leap::decomp;

namespace {

Json function(const char* name, const std::vector<std::string>& codes) {
  Json all = Json::array();
  for (const std::string& code : codes) all.push_back(Json{{"code", code}});
  return {
      {"name", name}, {"signature", std::string("def ") + name + "()"}, {"implementations", std::move(all)}};
}

/// Reads numbers, prints their sum; 3 * 4 * 2 programs.
Json sum_record() {
  Json one = {
      {"functions",
       Json::array(
           {function("read", {"def read():\n    return list(map(int, input().split()))",
                              "def read():\n    return [int(x) for x in input().split()][:2]", "def read(:"}),
            function("total", {"def total(x):\n    return sum(x)", "def total(x):\n    return len(x)",
                               "def total(x):\n    return sum(x)\ndef main():\n    print(total(read()))",
                               "def total(x):\n    return 1 / 0"}),
            function("main", {"def main():\n    print(total(read()))", "def main():\n    print('no')"})})},
      {"main", "main()"},
      {"error", nullptr}};
  return {
      {"id", "sum"},
      {"task",
       {{"check",
         {{"type", "stdio"},
          {"cases", Json::array({Json{{"stdin", "1 2 3\n"}, {"stdout", "6\n"}},
                                 Json{{"stdin", "1 2\n"}, {"stdout", "3\n"}}})}}}}},
      {"decompositions",
       Json::array({one, Json{{"completion", "x"}, {"functions", Json::array()}, {"error", "line 1: no"}}})}};
}

Json recombined(Json record, const RecombineOptions& options = {}) {
  Recombiner(options).recombine(record);
  return record;
}

double soft(double share, double beta = 0.3) {
  return beta * std::log(share * std::exp(1 / beta) + 1 - share);
}

}  // namespace

TEST_CASE("verdicts, advantages and what an implementation that redefines earns", "[decomp]") {
  RecombineOptions options;
  options.outcomes = true;
  options.boxes = UINT64_MAX;
  const Json made = recombined(sum_record(), options);
  const Json& first = made["decompositions"][0];
  const Json& found = first["recombination"];
  CHECK(found["programs"] == 24);
  CHECK(found["evaluated"] == 24);
  CHECK(found["solved"] == 2);  // total 0 and 2, with the good read and main
  CHECK(found["settled"] == true);
  CHECK(found["functions_used"] == 3);
  CHECK(found["flags"].empty());
  CHECK(found["best"]["choice"] == Json::array({0, 0, 0}));
  CHECK_THAT(found["best"]["code"].get<std::string>(), Contains("return sum(x)\ndef main()"));
  std::uint64_t programs = 0;
  for (const Json& box : found["boxes"]) {
    programs += box["programs"].get<std::uint64_t>();
    CHECK(box["outcomes"].get<std::string>().size() == 2);
    CHECK((box["status"] == "ok") == (box["outcomes"] == "PP"));
  }
  CHECK(programs == 24);
  CHECK_FALSE(found.contains("boxes_omitted"));

  const Json& total = first["functions"][1]["implementations"];
  CHECK(total[2]["flags"] == Json::array({"redefines"}));
  CHECK_FALSE(total[0].contains("flags"));
  // Programs with total 2 earn nothing: 1 of 24 is solved, 1 of 18 without one that is no winner.
  CHECK(total[0]["advantage"].get<double>() == Approx(4 * soft(1 / 24.0)));
  CHECK(total[2]["advantage"].get<double>() == Approx(4 * (soft(1 / 24.0) - soft(1 / 18.0))));
  CHECK(total[2]["advantage"] == total[3]["advantage"]);
  const double both = 0.3 * std::log((std::exp(soft(1 / 24.0) / 0.3) + 1) / 2);
  CHECK(first["advantage"].get<double>() == Approx(2 * both));
  CHECK(made["decompositions"][1]["advantage"].get<double>() == Approx(2 * (both - soft(1 / 24.0))));
  CHECK_FALSE(made["decompositions"][1].contains("recombination"));
  CHECK(made["diagnostics"]["unparsed"] == 1);
  CHECK(made["diagnostics"]["solved"] == true);
  CHECK(is_recombined(made));
  CHECK_FALSE(is_recombined(sum_record()));

  options.allow_redefinition = true;
  const Json allowed = recombined(sum_record(), options);
  const Json& again = allowed["decompositions"][0]["functions"][1]["implementations"];
  CHECK(again[2]["flags"] == Json::array({"redefines"}));
  CHECK(again[2]["advantage"].get<double>() == Approx(4 * (soft(2 / 24.0) - soft(1 / 18.0))));

  options.allow_redefinition = false;
  options.reward = Reward::kFraction;
  options.advantage.beta = 1e9;
  const Json fraction = recombined(sum_record(), options);
  // Of total 0's six programs: 1 and 1/2; of all 24 the same, those of total 2 excepted.
  CHECK(fraction["decompositions"][0]["functions"][1]["implementations"][0]["advantage"].get<double>() ==
        Approx(4 * (1.5 / 24 - 0)).margin(1e-6));
}

TEST_CASE("recombining again, options apart, writes the same", "[decomp]") {
  const Json once = recombined(sum_record());
  Json twice = recombined(once);
  for (Json* record : {&twice}) {
    (*record)["decompositions"][0]["recombination"]["measured"] =
        once["decompositions"][0]["recombination"]["measured"];
  }
  CHECK(twice == once);
}

TEST_CASE("boxes are bounded, without changing anything else", "[decomp]") {
  RecombineOptions options;
  options.boxes = 2;
  const Json two = recombined(sum_record(), options);
  options.boxes = 0;
  const Json none = recombined(sum_record(), options);
  const Json all = recombined(sum_record());
  const auto found = [](const Json& record) { return record["decompositions"][0]["recombination"]; };
  const std::size_t count = found(all)["boxes"].size();
  CHECK(found(two)["boxes"].size() == 2);
  CHECK(found(two)["boxes"][1] == found(all)["boxes"][1]);
  CHECK(found(two)["boxes_omitted"] == count - 2);
  CHECK(found(none)["boxes_omitted"] == count);
  CHECK_FALSE(found(none).contains("boxes"));
  CHECK(two["decompositions"][0]["advantage"] == all["decompositions"][0]["advantage"]);
}

TEST_CASE("a solution outside the functions earns nothing", "[decomp]") {
  Json record = sum_record();
  record["decompositions"] = Json::array(
      {Json{{"functions", Json::array({function("f", {"def f():\n    return 1", "def f():\n    return 2"})})},
            {"main", "print(sum(map(int, input().split())))"}},
       record["decompositions"][0]});
  RecombineOptions options;
  options.emit_rollouts = true;
  const Json made = recombined(record, options);
  const Json& found = made["decompositions"][0]["recombination"];
  CHECK(found["solved"] == 2);
  CHECK(found["functions_used"] == 0);
  CHECK(found["flags"] == Json::array({"trivial"}));
  CHECK(made["decompositions"][0]["advantage"].get<double>() < 0);
  CHECK(made["decompositions"][0]["functions"][0]["implementations"][0]["advantage"] == 0);
  REQUIRE(made["rollouts"].size() == 1);
  CHECK(made["rollouts"][0]["recombined"] == 1);
  CHECK(made["rollouts"][0]["turns"][0]["verdict"]["status"] == "ok");

  options.allow_trivial = true;
  const Json allowed = recombined(made, options);
  CHECK(allowed["decompositions"][0]["advantage"].get<double>() > 0);
  CHECK(allowed["rollouts"].size() == 2);
  options.allow_trivial = false;
  options.min_functions = 4;
  CHECK(recombined(record, options)["rollouts"].empty());
}

TEST_CASE("where only a program that redefines is first, the best is another", "[decomp]") {
  Json record = sum_record();
  Json& total = record["decompositions"][0]["functions"][1]["implementations"];
  std::swap(total[0], total[2]);
  RecombineOptions options;
  options.emit_rollouts = true;
  const Json made = recombined(record, options);
  CHECK(made["decompositions"][0]["recombination"]["best"]["choice"] == Json::array({0, 2, 0}));
  CHECK(made["rollouts"].size() == 1);
  total.erase(2);
  const Json only = recombined(record, options);
  CHECK(only["decompositions"][0]["recombination"]["best"]["choice"] == Json::array({0, 0, 0}));
  CHECK(only["rollouts"].empty());
  CHECK(only["decompositions"][0]["advantage"] == 0);
}

TEST_CASE("a budget that ran out leaves no advantages", "[decomp]") {
  RecombineOptions options;
  options.engine.budget_s = 1e-9;
  const Json made = recombined(sum_record(), options);
  const Json& found = made["decompositions"][0]["recombination"];
  CHECK(found["settled"] == false);
  CHECK(found["evaluated"] < 24);
  CHECK(made["decompositions"][0]["advantage"].is_null());
  CHECK(made["decompositions"][1]["advantage"].is_null());
  CHECK(made["decompositions"][0]["functions"][1]["implementations"][0]["advantage"].is_null());
  CHECK(made["diagnostics"]["budget_ran_out"] == true);
  CHECK(is_recombined(made));
}

TEST_CASE("decompositions without programs keep their place", "[decomp]") {
  Json record = sum_record();
  record["decompositions"][1] =
      Json{{"functions", Json::array({function("f", {"x = 1"}), function("g", {})})}};
  record["decompositions"].push_back(Json{{"functions", Json::array()}});
  const Json made = recombined(record);
  CHECK(made["decompositions"][1]["recombination"]["programs"] == 0);
  CHECK(made["decompositions"][1]["advantage"].get<double>() < 0);
  CHECK_FALSE(made["decompositions"][1]["functions"][0]["implementations"][0].contains("advantage"));
  CHECK(made["decompositions"][2]["advantage"] == made["decompositions"][1]["advantage"]);
  Json none = {{"id", "n"}, {"decompositions", Json::array()}};
  CHECK(recombined(none) == none);
}

TEST_CASE("implementations that take another's place are found", "[decomp]") {
  Parsers parsers(leap::sandbox::Mode::kAuto);
  const auto flagged = [&](const std::string& code, const char* language = "python") {
    Decomposition one;
    one.functions = {{"f", {code}}, {"other", {""}}};
    return static_cast<bool>(redefinitions(one, language, parsers)[0][0]);
  };
  for (const char* code :
       {"def f():\n    return other(1) + other (2)", "def f():\n    other = 3\n    return map(other, [])",
        "def f(other):\n    return other", "def other_one():\n    pass", "x.other = 1",
        "def f(:\n  other = 1", "# other\ndef f():\n    'other'",
        "class A:\n    def other(self):\n        pass", "import math\nmain_menu = 1",
        "def f(x):\n    return eval(x)", "def f(a):\n    for k in a:\n        setattr(a, k, 1)\n    return a",
        "def f(memo={}):\n    memo['a' + 'b'] = 1\n    return 'memo' in globals()"}) {
    INFO(code);
    CHECK_FALSE(flagged(code));
  }
  for (const char* code : {"def other():\n    pass",
                           "if True:\n    class other: pass",
                           "other = 3",
                           "import os as other",
                           "from x import main",
                           "def f():\n    global other\n    other = 1",
                           "for main in []: pass",
                           "def f():\n    globals()['other'] = f",
                           "exec('def main(): pass')",
                           "(other := 3)",
                           "del other",
                           "async  def   main(): pass",
                           "try: pass\nexcept Exception as other: pass",
                           "globals()['oth' + 'er'] = 1",
                           "def f():\n    g = globals()\n    g['oth' + 'er'] = f",
                           "globals().update(dict(x=1))",
                           "import sys\nsetattr(sys.modules['__main__'], 'oth' + 'er', 1)",
                           "import __main__ as m\ndef f():\n    setattr(m, 'oth' + 'er', 1)",
                           "exec('oth' + 'er = 1')",
                           "def f():\n    f.__globals__['oth' + 'er'] = 1",
                           "del vars()['oth' + 'er']"}) {
    INFO(code);
    CHECK(flagged(code));
  }
  // A text that takes the parser down hides nobody's doing.
  Decomposition three;
  three.functions = {{"f", {"other = 1" + std::string(300000, '('), "x = other"}}, {"other", {"f = 1"}}};
  three.functions[0].implementations.push_back("other = " + std::string(1 << 22, '-') + "1");
  const auto marks = redefinitions(three, "python", parsers);
  CHECK_FALSE(marks[0][1]);
  CHECK(marks[1][0]);
  CHECK(flagged("int f() { return 1; }\nint other(int x) { return 2; }", "cpp"));
  CHECK(flagged("#define other(x) 3\nint f() { return 1; }", "cpp"));
  CHECK(flagged("int main() { }", "cpp"));
  CHECK_FALSE(flagged("int f() { return other(1); }\nint another() { return 1; }", "cpp"));
}

TEST_CASE("empty implementations", "[decomp]") {
  CHECK(empty_implementation("f", "async def f(x)", "", "python") ==
        "async def f(*arguments, **named):\n    return None\n");
  CHECK(empty_implementation("f", "vector<int> f(int a = 3, map<int, int> b = g(1, 2))", "", "cpp") ==
        "vector<int> f(int a, map<int, int> b) { return {}; }");
  CHECK(empty_implementation("f", "void f(int a);", "", "cpp") == "void f(int a) {}");
  CHECK(empty_implementation("main", "", "", "cpp") == "int main() { return 0; }");
}

TEST_CASE("records that cannot be recombined name the field", "[decomp]") {
  const auto message = [](const auto& change) {
    Json record = sum_record();
    change(record);
    try {
      recombined(record);
    } catch (const leap::RecordError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(message([](Json& r) { r["decompositions"] = 1; }), Contains("decompositions: must be an array"));
  CHECK_THAT(message([](Json& r) { r["decompositions"][0] = "x"; }),
             Contains("decompositions[0]: must be an object"));
  CHECK_THAT(message([](Json& r) { r["decompositions"][0].erase("functions"); }),
             Contains("decompositions[0]: functions: missing; decomp-split(1)"));
  CHECK_THAT(message([](Json& r) { r["decompositions"][0]["functions"][1].erase("name"); }),
             Contains("decompositions[0]: functions[1].name: missing"));
  CHECK_THAT(message([](Json& r) { r["decompositions"][0]["functions"][1]["implementations"] = 3; }),
             Contains("functions[1].implementations: must be an array"));
  CHECK_THAT(message([](Json& r) { r["task"]["language"] = "cuda"; }), Contains("task.language"));
  CHECK_THAT(message([](Json& r) { r.erase("task"); }), Contains("task"));
  CHECK_THAT(message([](Json& r) { r["task"]["check"]["cases"] = Json::array(); }), Contains("cases"));
  CHECK_THAT(message([](Json& r) {
               for (int i = 0; i < 1000; ++i)
                 r["decompositions"][0]["functions"].push_back(function("f", {"", ""}));
             }),
             Contains("decompositions[0]: "));
  // No code at all is an ordinary failure.
  Json bare = sum_record();
  bare["decompositions"][0]["functions"][0]["implementations"][0] = Json::object();
  CHECK(recombined(bare)["decompositions"][0]["recombination"]["solved"] == 0);
}
