#include <catch2/catch.hpp>

#include "records/code.hpp"

using leap::Json;
using leap::records::code_of;
using leap::records::code_of_turn;
using leap::records::defines;
using leap::records::extract;

TEST_CASE("a completion without fences is code as it is", "[records]") {
  CHECK(extract("print(1)\n", "python") == "print(1)\n");
  CHECK(extract("    return a + b\n", "python") == "    return a + b\n");
  CHECK(extract("", "python") == "");
}

TEST_CASE("the last closed block counts, one tagged with the language first", "[records]") {
  CHECK(extract("Hi\n```python\na = 1\n```\nthen\n```python\na = 2\n```\nbye", "python") == "a = 2\n");
  CHECK(extract("```python\na = 1\n```\n```\noutput: 1\n```\n", "python") == "a = 1\n");
  CHECK(extract("```Python3\na = 1\n```\n```bash\npip\n```\n", "python") == "a = 1\n");
  CHECK(extract("```cpp\nx\n```\n```rust\ny\n```\n", "python") == "y\n");
  CHECK(extract("```c++\nint x;\n```\n```python\ny\n```\n", "cpp") == "int x;\n");
  CHECK(extract("~~~py\na\n```\nb\n~~~\n", "python") == "a\n```\nb\n");
  CHECK(extract("1. so:\n   ```python\n   if x:\n       y\n   ```\n", "python") == "if x:\n    y\n");
  CHECK(extract("```python\nold\n```\n```python\ncut off", "python") == "old\n");
  CHECK(extract("````python\na\n```\nb\n````\n", "python") == "a\n```\nb\n");
}

TEST_CASE("cut-off and orphan fences", "[records]") {
  CHECK(extract("Sure:\n```python\na = 1\nb =", "python") == "a = 1\nb =\n");
  CHECK(extract("Sure, this is it:\n```\na = 1", "python") == "a = 1\n");
  CHECK(extract("    return 1\n```\nThis returns one.", "python") == "    return 1\n");
  CHECK(extract("a = 1\n```\n", "python") == "a = 1\n");
  CHECK(extract("```python\nreturn x```", "python") == "return x");
  CHECK(extract("def f():\n    return 1\n```\nUse:\n```python\nf()\n```\n", "python") == "f()\n");
}

TEST_CASE("thoughts are dropped", "[records]") {
  CHECK(extract("<think>```python\nno\n```</think>```python\nyes\n```\n", "python") == "yes\n");
  CHECK(extract("so ```python\nno\n```\n</think>\n```python\nyes\n```\n", "python") == "yes\n");
  CHECK(extract("<think>\n```python\nno\n```\n", "python") == "");
  CHECK(extract("print('<think>')\n", "python") == "print('<think>')\n");
}

TEST_CASE("what defines an entry point", "[records]") {
  CHECK(defines("def f(x):\n  pass", "f", "python"));
  CHECK(defines("async  def f(x): pass", "f", "python"));
  CHECK(defines("class Solution:\n    def f(self): pass", "f", "python"));
  CHECK(defines("f = lambda x: x", "f", "python"));
  CHECK(defines("from math import gcd as f", "f", "python"));
  CHECK_FALSE(defines("from math import gcd", "f", "python"));
  CHECK_FALSE(defines("def ff(x): pass\nf == 1\n# def f(x)", "f", "python"));
  CHECK_FALSE(defines("def g():\n    def f(): pass", "f", "python"));
  CHECK(defines("std::vector<int> f(std::vector<int> a) {\n}", "f", "cpp"));
  CHECK(defines("int f(int a)\n{ return g(a); }", "f", "cpp"));
  CHECK_FALSE(defines("int g() { return f(1); } // int f(int a) {", "f", "cpp"));
  CHECK_FALSE(defines("int f(int a);", "f", "cpp"));
}

TEST_CASE("the starter completes what does not define the entry point, else lends its imports", "[records]") {
  const Json task = {
      {"language", "python"},
      {"entry_point", "f"},
      {"starter", "import math\nfrom typing import (List,\n  Dict)\n\ndef f(x):\n    \"\"\"doc\"\"\"\n"}};
  CHECK(code_of({{"completion", "    return x\n"}}, task) ==
        task["starter"].get<std::string>() + "    return x\n");
  CHECK(code_of({{"completion", "```python\ndef f(x):\n    return x\n```"}}, task) ==
        "import math\nfrom typing import (List,\n  Dict)\ndef f(x):\n    return x\n");
  const auto code = code_of_turn(
      {{"code", "from __future__ import annotations\nimport math\ndef f(x):\n    return x\n"}}, task);
  CHECK(code.text ==
        "from __future__ import annotations\nfrom typing import (List,\n  Dict)\nimport math\ndef f(x):\n    "
        "return x\n");
  CHECK(code.own_line(1) == 1);
  CHECK(code.own_line(2) == 0);
  CHECK(code.own_line(4) == 2);
  CHECK(code_of({{"completion", "  \n"}}, task) == "  \n");
  CHECK(code_of(Json::object(), task) == "");
  const Json cpp = {{"language", "cpp"},
                    {"entry_point", "f"},
                    {"starter", "#include <vector>\nusing namespace std;\nint f(int a) {"}};
  CHECK(code_of({{"completion", "return a; }"}}, cpp) == cpp["starter"].get<std::string>() + "\nreturn a; }");
  CHECK(code_of({{"completion", "int f(int a) { return a; }"}}, cpp) ==
        "#include <vector>\nusing namespace std;\nint f(int a) { return a; }");
}

TEST_CASE("code without an entry point is left alone", "[records]") {
  CHECK(code_of({{"code", "print(1)"}}, {{"language", "python"}}) == "print(1)");
  CHECK(code_of({{"completion", "x"}, {"code", nullptr}}, {{"language", "python"}}) == "x");
}

TEST_CASE("Extraction of long hostile completions is linear", "[records]") {
  // Quadratic work on any of these would take hours.
  const Json task = {{"language", "python"}, {"entry_point", "f"}, {"starter", "def f(x):\n"}};
  for (const std::string piece :
       {"</think>", "<think>", "```\n", "~~~", "def f", "'''", "\"", "(", "#", "\\\n"}) {
    std::string text;
    while (text.size() < 4000000) text += piece;
    const Json turn = {{"completion", text}};
    INFO(piece);
    CHECK(code_of(turn, task).size() <= text.size() + 100);
  }
}
