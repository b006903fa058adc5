// Tests of type `script` that run one after another in one process: nothing that one of them does may reach
// the next, and what is told of each is what a process of its own tells.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "verify/tester.hpp"
#include "verify/verify.hpp"

using leap::Json;
using leap::sandbox::Fields;
using leap::sandbox::Limits;
using leap::sandbox::Mode;
using leap::verify::Guests;
using leap::verify::harness_settings;
using leap::verify::Pool;
using leap::verify::Script;
using leap::verify::Tester;
using leap::verify::Verifier;

namespace {

Script script_of(const std::string& source, const std::string& call = "") {
  return {source, call, "f", {}};
}

/// Answers every call of the tests with the number 4; the name of their end, "" where there is none.
std::string end_of(Tester& tester) {
  const std::string four("i\4\0\0\0", 5);
  tester.start(Limits());
  Fields message;
  while (tester.next(message)) {
    if (message[0] != "call") return message[0] == "failed" ? message[1] : message[0];
    tester.send({"value", four});
  }
  return "";
}

std::string end_of(Pool& judges, const Script& script) {
  Tester tester(judges, script);
  return end_of(tester);
}

bool leaves_running(Pool& judges) {
  auto box = judges.take();
  const bool running = box->running();
  judges.give(std::move(box));
  return running;
}

Json task_of(const std::string& tests, const std::string& call = "") {
  Json task = {{"language", "python"}, {"entry_point", "f"}, {"limits", {{"cpu_s", 1}, {"memory_mb", 256}}}};
  task["check"] = {{"type", "script"}, {"code", tests}};
  if (!call.empty()) task["check"]["call"] = call;
  return task;
}

/// Sees changes of what tests share with each other.
const char* const kPlainProbe =
    "assert f(2) == 4 and len([1]) == 1 and sum([1, 2]) == 3 and sorted([2, 1]) == [1, 2]\n";
const char* const kProbe =
    "import math, sys\n"
    "assert f(2) == 4 and len([1]) == 1 and sum([1, 2]) == 3 and sys.getrecursionlimit() == 10000\n"
    "assert not hasattr(math, 'leak') and not hasattr(f, 'leak') and 'leak' not in globals()\n"
    "import os\nassert not os.path.exists('/tmp/leak') and not os.path.exists('leak')\n";

}  // namespace

TEST_CASE("plain tests leave their process to the next ones", "[verify]") {
  Pool judges(harness_settings(Mode::kAuto, Guests::kJudges));
  const Script good =
      script_of("def check(c):\n    assert c(2) == 4\n    assert c([1], k={}) == 4\n", "check");
  CHECK(end_of(judges, good) == "done");
  CHECK(leaves_running(judges));
  CHECK(end_of(judges, script_of("x = [f(1)]\nassert x == [5], 'no'\n")) == "AssertionError");
  CHECK(leaves_running(judges));
  CHECK(end_of(judges, good) == "done");
  // More than one process runs in all.
  for (int i = 0; i < 300; ++i) REQUIRE(end_of(judges, good) == "done");
}

TEST_CASE("tests that are not plain have a process of their own", "[verify]") {
  const char* const kinds[] = {
      "import math\nmath.leak = 1\nassert f(2) == 4\n",
      "import builtins\nbuiltins.len = lambda x: 0\nassert f(2) == 4\n",
      "import sys\nsys.setrecursionlimit(500)\nassert f(2) == 4\n",
      "vars(__builtins__)['sum'] = 1\nassert f(2) == 4\n",
      "f.leak = 1\nassert f(2) == 4\n",
      "def g(): return 1\ng.leak = 1\nassert f(2) == 4\n",
      "class A: pass\nassert f(2) == 4\n",
      "setattr(f, 'leak', 1)\nassert f(2) == 4\n",
      "globals()['leak'] = 1\nassert f(2) == 4\n",
      "open('leak', 'w').write('1')\nassert f(2) == 4\n",
      "print(f(2))\n",
      "exec('import math; math.leak = 1')\nassert f(2) == 4\n",
      "assert f.__globals__.update(leak=1) is None and f(2) == 4\n",
      "assert (lambda: [c for c in ().__class__.__base__.__subclasses__()])() and f(2) == 4\n",
      "import random\nassert random.seed(1) is None and f(2) == 4\n"};
  for (const char* kind : kinds) {
    INFO(kind);
    Pool judges(harness_settings(Mode::kAuto, Guests::kJudges));
    CHECK(end_of(judges, script_of(kind)) == "done");
    CHECK_FALSE(leaves_running(judges));
    CHECK_FALSE(judges.tests_are_plain);
    CHECK(end_of(judges, script_of(kPlainProbe)) == "done");
    CHECK(judges.tests_are_plain);
    CHECK(end_of(judges, script_of(kProbe)) == "done");
  }
}

TEST_CASE("only proper ends count in a process of many tests", "[verify]") {
  const std::pair<const char*, const char*> kinds[] = {
      {"assert f(2) == 4\n1 // 0\n", "ZeroDivisionError"},
      {"assert f(2) == 4\nx = [0] * (1 << 40)\n", "MemoryError"},
      {"def g(n): return g(n + 1)\nf(2)\ng(0)\n", "RecursionError"},
      {"f(2)\nraise KeyError(1)\n", "KeyError"},
      {"f(2)\nf(f)\n", "beyond"},
      {"assert f(\n", "broken"}};
  for (const auto& [source, end] : kinds) {
    INFO(source);
    Pool judges(harness_settings(Mode::kAuto, Guests::kJudges));
    const Script script = script_of(source);
    Tester tester(judges, script);
    std::string got = end_of(tester);
    if (got.empty() && tester.has_to_repeat()) got = end_of(tester);
    CHECK(got == end);
    CHECK(end_of(judges, script_of(kPlainProbe)) == "done");
  }
}

TEST_CASE("a candidate that is no more does not end the tests of others", "[verify]") {
  Pool judges(harness_settings(Mode::kAuto, Guests::kJudges));
  for (const char* source :
       {"assert f(2) == 4\n", "assert 1 == 2\n", "try:\n    f(2)\nexcept Exception:\n    pass\nf(3)\n"}) {
    INFO(source);
    const Script script = script_of(source);
    {
      Tester tester(judges, script);
      tester.start(Limits());
      tester.dismiss(false);
    }
    CHECK(leaves_running(judges));
  }
  const Script stubborn = script_of("try:\n    f(2)\nexcept:\n    f(3)\n");
  {
    Tester tester(judges, stubborn);
    tester.start(Limits());
    Fields message;
    CHECK(tester.next(message));
    tester.dismiss(true);
  }
  CHECK_FALSE(leaves_running(judges));
  CHECK(end_of(judges, script_of(kPlainProbe)) == "done");
}

TEST_CASE("verdicts of tests do not depend on what ran before", "[verify]") {
  const std::vector<std::string> tests = {kPlainProbe,
                                          "import builtins\nbuiltins.len = lambda x: 0\nassert f(2) == 4\n",
                                          "assert f(2) == 4\nassert f(3) == 6\n",
                                          "assert f(2) == 4\nf(2) + []\n",
                                          "x = 1\n",
                                          "import math\nmath.leak = 1\nassert f(2) == 4\n",
                                          "import time\ntime.sleep(0)\nassert f(2) == 4\n",
                                          "for i in range(50): assert f(i) == 2 * i\n"};
  const std::vector<std::string> programs = {
      "def f(x): return 2 * x",
      "def f(x): return x + 2",
      "def f(x): return {}[x]",
      "import os\ndef f(x): os._exit(0)",
      "def f(x:\n",
      "def g(x): return x",
      "import sys\nsys.exit(0)",
      "class E:\n    def __eq__(s, o): return True\ndef f(x): return E()"};
  std::vector<std::pair<std::size_t, std::size_t>> order;
  std::vector<std::vector<Json>> alone(tests.size());
  for (std::size_t t = 0; t < tests.size(); ++t)
    for (std::size_t p = 0; p < programs.size(); ++p) {
      order.emplace_back(t, p);
      alone[t].push_back(Verifier({}).verdict(task_of(tests[t]), programs[p]));
      alone[t].back().erase("measured");
    }
  Verifier verifier({});
  std::mt19937 random(7);
  for (int round = 0; round < 3; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const auto& [t, p] : order) {
      INFO(tests[t] << "\n" << programs[p]);
      Json verdict = verifier.verdict(task_of(tests[t]), programs[p]);
      verdict.erase("measured");
      CHECK(verdict == alone[t][p]);
    }
  }
}
