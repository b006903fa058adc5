#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "verify/cache.hpp"
#include "verify/compare.hpp"
#include "verify/lint.hpp"
#include "verify/programs.hpp"
#include "verify/value.hpp"
#include "verify/verify.hpp"

using leap::Json;
using leap::verify::Compare;
using leap::verify::Verifier;

namespace {

Verifier& verifier() {
  static Verifier it({});
  return it;
}

/// The flags of a verdict, after those that name the sandbox.
Json flags_here(std::initializer_list<const char*> flags) {
  Json out = Json::array();
  if (leap::sandbox::resolve(leap::sandbox::Mode::kAuto) == leap::sandbox::Mode::kLandlock)
    out.push_back("landlock");
  for (const char* flag : flags) out.push_back(flag);
  return out;
}

Json sum_task(const std::string& language = "python") {
  return Json::parse(R"({"limits": {"cpu_s": 1, "wall_s": 20, "memory_mb": 256, "output_kb": 64},
    "check": {"type": "stdio", "cases": [{"stdin": "1 2\n", "stdout": "3\n", "public": true},
                                         {"stdin": "11 777\n", "stdout": "788\n"}]}, "language": ")" +
                     language + "\"}");
}

Json add_task(const std::string& language = "python") {
  return Json::parse(
      R"({"entry_point": "add", "starter": "", "limits": {"cpu_s": 1, "wall_s": 20, "memory_mb": 256},
    "check": {"type": "call", "cases": [{"args": [1, 2], "expect": 3, "public": true},
                                        {"args": [11, 777], "expect": 788}]}, "language": ")" +
      language + "\"}");
}

Json call_task(const std::string& args, const std::string& expect) {
  Json task = add_task();
  task["entry_point"] = "f";
  task["check"]["cases"] =
      Json::array({{{"args", leap::jsonl::parse(args)}, {"expect", leap::jsonl::parse(expect)}}});
  return task;
}

Json script_task(const std::string& code, const std::string& call = "",
                 const std::string& language = "python") {
  Json task = {{"language", language}, {"entry_point", "f"}, {"limits", {{"cpu_s", 1}, {"memory_mb", 256}}}};
  task["check"] = {{"type", "script"}, {"code", code}};
  if (!call.empty()) task["check"]["call"] = call;
  if (language == "cpp") task["starter"] = "#include <string>\n#include <vector>\nint f(int x) {\n";
  return task;
}

std::string status(const Json& task, const std::string& code) {
  const Json verdict = verifier().verdict(task, code);
  INFO(verdict.dump());
  CHECK(verdict["feedback"].get<std::string>().size() <= 2100);
  return verdict["status"];
}

const std::string kRead = "a, b = map(int, input().split())\n";

}  // namespace

TEST_CASE("outputs are compared as judges do", "[verify]") {
  using leap::verify::same_output;
  auto tokens = [](const char* got, const char* want, double tolerance = 0) {
    return same_output(got, want, Compare::kTokens, tolerance);
  };
  CHECK(tokens("1 2\r\n3", "1\n2 3\n"));
  CHECK(tokens("1.0 1e2 -0 .5 007", "1 100 0 0.50 7"));
  CHECK(tokens("123456789012345678901234567890", "123456789012345678901234567890.0"));
  CHECK_FALSE(tokens("123456789012345678901234567891", "123456789012345678901234567890"));
  CHECK_FALSE(tokens("0.1000001", "0.1"));
  CHECK(tokens("0.1000001", "0.1", 1e-6));
  CHECK(tokens("1000001", "1000000", 1e-6));
  CHECK_FALSE(tokens("1000002", "1000000", 1e-6));
  CHECK(tokens("nan inf", "nan Infinity"));
  CHECK_FALSE(tokens("NaN", "nan", 1));
  CHECK_FALSE(tokens("-inf", "inf", 1));
  CHECK_FALSE(tokens("1 2 3", "1 2"));
  CHECK_FALSE(tokens("", "0"));
  CHECK(tokens("", " \n"));
  CHECK_FALSE(tokens("0x10", "16"));
  CHECK(tokens("1e9999999999999999 0e99999999999999999999", "10e9999999999999998 0"));
  CHECK_FALSE(tokens("1e99999999999999999998", "1e99999999999999999999"));
  CHECK_FALSE(tokens("\xff", "a"));
  CHECK(same_output("a \nb\n\n", "a\nb", Compare::kLines, 0));
  CHECK_FALSE(same_output(" a", "a", Compare::kLines, 0));
  CHECK_FALSE(same_output("a\n\nb", "a\nb", Compare::kLines, 0));
  CHECK(same_output("a\n", "a\n", Compare::kExact, 0));
  CHECK_FALSE(same_output("a", "a\n", Compare::kExact, 0));
}

TEST_CASE("a hostile answer does not take our time or memory", "[verify]") {
  using leap::verify::read_marshal;
  std::string list = "[", big = "l";
  const std::uint32_t count = 5000000;
  for (int i = 0; i < 4; ++i) {
    list += static_cast<char>(count >> (8 * i));
    big += static_cast<char>(count >> (8 * i));
  }
  CHECK_THROWS_AS(read_marshal(list + std::string(count, 'N')), leap::RecordError);
  const leap::verify::Value value = read_marshal(big + std::string(2 * count, '\1'));
  CHECK_FALSE(same(value, Json(3), 0));
  CHECK(leap::verify::show(value, 100).size() < 100);
  const Json nested = leap::jsonl::parse(R"({"a": [1, [2, {"b": "c"}]], "d": []})");
  CHECK_NOTHROW(read_marshal(leap::verify::write_marshal(nested), leap::verify::nodes_of(nested)));
  CHECK_THROWS_AS(read_marshal(leap::verify::write_marshal(nested), 5), leap::RecordError);
}

TEST_CASE("values survive the way there and back", "[verify]") {
  using leap::verify::read_marshal;
  using leap::verify::same;
  using leap::verify::write_marshal;
  for (const char* text :
       {"null", "true",
        "[0,-1,2147483648,-2147483649,9223372036854775807,-9223372036854775808,18446744073709551615]",
        "123456789012345678901234567890", "-1267650600228229401496703205376",
        R"({"a":[1.5,"\u00e9",{}],"b":[]})"}) {
    INFO(text);
    const Json value = leap::jsonl::parse(text);
    CHECK(same(read_marshal(write_marshal(value)), value, 0));
    CHECK_FALSE(same(read_marshal(write_marshal(value)), Json::array({value, 1}), 0));
  }
  auto is_same = [](const char* got, const char* want) {
    return same(read_marshal(write_marshal(leap::jsonl::parse(got))), leap::jsonl::parse(want), 1e-6);
  };
  CHECK(is_same("1.0", "1"));
  CHECK(is_same("1", "1.0000001"));
  CHECK_FALSE(is_same("1", "true"));
  CHECK_FALSE(is_same("true", "1"));
  CHECK_FALSE(is_same("\"1\"", "1"));
  CHECK_FALSE(is_same("0", "null"));
  CHECK_FALSE(is_same("[1,2]", "[1,2,3]"));
  CHECK_FALSE(is_same("{\"a\":1}", "{\"b\":1}"));
  CHECK_FALSE(is_same("123456789012345678901234567890", "123456789012345678901234567891"));
  CHECK(is_same("1e30", "1000000000000000000000000000000"));
  for (const char* bytes : {"", "i", "[\x7f\xff\xff\xff", "u\xff\xff\xff\x7f", "{N", "x", "NN", "g123"})
    CHECK_THROWS_AS(read_marshal(std::string(bytes)), leap::RecordError);
}

TEST_CASE("right programs in all the ways to read and write", "[verify]") {
  for (const char* code :
       {"a, b = map(int, input().split())\nprint(a + b)",
        "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
        "import os\nos.write(1, str(sum(map(int, os.read(0, 99).split()))).encode())\nos._exit(0)",
        "print(sum(map(int, open(0).read().split())))\nexit()",
        "open(1, 'w').write(str(sum(map(int, open('/dev/stdin').read().split()))))",
        "import sys\nsys.stdout.buffer.write(b'%d\\r\\n' % sum(map(int, "
        "sys.stdin.readline().split())))\nsys.exit(0)",
        "def main():\n    print(sum(map(int, input().split())))\nif __name__ == '__main__':\n    main()",
        "import threading, sys\nsys.setrecursionlimit(10**6)\nthreading.stack_size(1 << 26)\n"
        "def f(n): return n and f(n - 1)\n"
        "def main(): f(50000); print(sum(map(int, input().split())))\nthreading.Thread(target=main).start()",
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return n and f(n - 1)\nf(50000)\n"
        "print(sum(map(int, input().split())))",
        "import atexit\na = sum(map(int, input().split()))\natexit.register(lambda: print(a))",
        "import sys, io\nout = io.StringIO()\nprint(sum(map(int, input().split())), file=out)\n"
        "sys.stdout.write(out.getvalue())\nprint('debug', file=sys.stderr)",
        "input = __import__('sys').stdin.readline\nimport builtins\n"
        "builtins.len = builtins.print\nsum_ = sum\nprint(sum_(map(int, input().split())))",
        "a, b = map(int, input().split())\nclass D:\n    def __del__(s): print(a + b)\nd = D()",
        "a, b = map(int, input().split())\nout = open(1, 'w')\ndef show(x): out.write(str(x))\nshow(a + b)",
        "import asyncio\nasync def main(): print(sum(map(int, input().split())))\nasyncio.run(main())",
        "import subprocess\na, b = input().split()\nprint(subprocess.check_output(['expr', a, '+', "
        "b]).decode())",
        "import sys\nassert sys.argv[1:] == [] and sys.modules['__main__'].__dict__ is globals()\n"
        "print(sum(map(int, input().split())))"}) {
    INFO(code);
    CHECK(status(sum_task(), code) == "ok");
  }
}

TEST_CASE("how programs fail", "[verify]") {
  const Json task = sum_task();
  CHECK(status(task, kRead + "print(a - b)") == "wrong_answer");
  CHECK(status(task, kRead + "print(a + b, 'x')") == "wrong_answer");
  CHECK(status(task, "") == "no_code");
  CHECK(status(task, "pass") == "no_output");
  CHECK(status(task, kRead + "print(a + b\n") == "compile_error");
  CHECK(status(task, "return 1") == "compile_error");
  CHECK(status(task, std::string("print(1)\0", 9)) == "compile_error");
  CHECK(status(task, std::string(100000, '(')) == "compile_error");
  CHECK(status(task, kRead + "print(a + b)\nraise SystemExit(1)") == "crash");
  CHECK(status(task, kRead + "print(a + b)\nimport os\nos.abort()") == "crash");
  CHECK(status(task, kRead + "print(a + b)\n1 / 0") == "crash");
  CHECK(status(task, kRead + "print(a + b, end='')\nimport os\nos._exit(0)") == "no_output");
  CHECK(status(task, kRead + "print(a + b, flush=True)\nwhile True: pass") == "timeout");
  CHECK(status(task, kRead + "try:\n  while True: pass\nexcept BaseException: print(a + b)") == "timeout");
  CHECK(status(task, "x = [0] * (1 << 30)") == "out_of_memory");
  CHECK(status(task,
               "try: x = [0] * (1 << 30)\nexcept MemoryError: pass\nprint(sum(map(int, input().split())))") ==
        "ok");
  CHECK(status(task, "while True: print('x' * 1000)") == "output_limit");
  CHECK(status(task, "while True:\n  try: print('x' * 1000)\n  except OSError: pass") == "output_limit");
  CHECK(status(task, "def f(n): return f(n + 1)\nf(0)") == "crash");
  CHECK(status(task, "import sys\nsys.stdout.buffer.write(b'\\xff')") == "wrong_answer");
  Json sleepy = task;
  sleepy["limits"]["wall_s"] = 0.5;
  CHECK(status(sleepy, "import time\ntime.sleep(100)") == "timeout");
}

TEST_CASE("hostile programs get nothing", "[verify]") {
  const Json task = sum_task();
  for (const char* code :
       {"import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "import socket\ns = socket.create_connection(('1.1.1.1', 80))",
        "import os, signal\nos.kill(1, signal.SIGKILL)\nos.kill(os.getppid(), 9)\nos.kill(-1, 9)",
        "import ctypes\nctypes.CDLL(None).ptrace(16, 1, 0, 0)\nprint(3)",
        "import ctypes\nctypes.CDLL(None).unshare(0x10000000)",
        "print(open('/proc/1/environ').read())\nprint(open('/proc/1/mem', 'rb').read(1))",
        "import os\nfor p in os.listdir('/proc'):\n    if p.isdigit(): print(os.listdir('/proc/%s/fd' % p))",
        "import gc, sys\nf = sys._getframe()\nwhile f:\n    print(f.f_locals.keys())\n    f = f.f_back",
        "open('/tmp/x', 'wb').write(b'x' * (1 << 30))", "import os\nos.memfd_create('x')",
        "import os\nwhile True: os.dup(0)"}) {
    INFO(code);
    CHECK(status(task, code) != "ok");
  }
  // Nothing of one run reaches another, nor a second program in the same sandbox.
  CHECK(status(task,
               "import os\nif os.path.exists('/tmp/seen'): print(3)\nopen('/tmp/seen', 'w').close()\n"
               "if os.fork() == 0:\n    os.setsid()\n    while True: pass") != "ok");
  CHECK(status(task, kRead + "print(a + b)") == "ok");
  Json forged = verifier().verdict(add_task(),
                                   "import os\ndef add(a, b):\n    for i in range(3, 64):\n"
                                   "        try: os.write(i, b'\\5\\0\\0\\0\\1\\0\\0\\0x')\n"
                                   "        except OSError: pass\n    return a + b");
  CHECK(forged["status"] == "sandbox_violation");
  CHECK(forged["cheat"] == true);
}

TEST_CASE("feedback shows public cases and nothing of hidden ones", "[verify]") {
  Json verdict = verifier().verdict(sum_task(), kRead + "print(a * b)");
  CHECK(verdict["passed"] == 0);
  CHECK(verdict["ran"] == 2);
  CHECK(verdict["feedback"] ==
        "Passed 0 of 2 tests.\nTest 1 (public): wrong answer\nInput:\n1 2\nExpected:\n3\nGot:\n2");
  verdict = verifier().verdict(sum_task(), kRead +
                                               "if a == 11:\n    class Secret777(Exception): pass\n"
                                               "    raise Secret777('secret %d' % b)\nprint(a + b)");
  CHECK(verdict["status"] == "crash");
  CHECK(verdict["passed"] == 1);
  CHECK(verdict["feedback"] ==
        "Passed 1 of 2 tests.\nTest 2 (hidden): Exception at line 4: `raise Secret777('secret %d' % b)`");
  CHECK(verdict["exit_code"] == 1);
  verdict = verifier().verdict(sum_task(), kRead + "print([a][b])");
  CHECK(verdict["feedback"].get<std::string>().find(
            "IndexError at line 2: `print([a][b])`: list index out of range") != std::string::npos);
  verdict = verifier().verdict(sum_task(), "x = 1\ndef f(:");
  CHECK(verdict["feedback"] ==
        "The program does not compile.\nSyntaxError: invalid syntax at line 2: `def f(:`");
  Json task = sum_task();
  task["check"]["cases"][0]["stdin"] = std::string(5000, '1');
  verdict = verifier().verdict(task, "print('9' * 5000)");
  CHECK(verdict["feedback"].get<std::string>().find("(shortened, 5000 bytes in all)") != std::string::npos);
  CHECK(verdict["feedback"].get<std::string>().size() < 2000);
  const auto added = leap::records::with_starter("def f(x):\n    return math.nope\n",
                                                 {{"entry_point", "f"}, {"starter", "import math\n"}});
  verdict = verifier().verdict(call_task("[1]", "1"), added);
  CHECK(verdict["feedback"].get<std::string>().find("AttributeError at line 2: `return math.nope`") !=
        std::string::npos);
}

TEST_CASE("calls by value", "[verify]") {
  CHECK(status(add_task(), "def add(a, b): return a + b") == "ok");
  CHECK(status(add_task(), "class Solution:\n    def add(self, a, b): return a + b") == "ok");
  CHECK(status(add_task(), "def sub(a, b): return a + b") == "interface_error");
  CHECK(status(add_task(), "def add(a): return a") == "crash");
  CHECK(status(add_task(), "import sys\ndef add(a, b): sys.exit(0)") == "early_exit");
  CHECK(status(add_task(), "import sys\nsys.exit(0)") == "early_exit");
  CHECK(status(add_task(), "import os\ndef add(a, b): os._exit(0)") == "early_exit");
  CHECK(status(add_task(), "class E:\n    def __eq__(s, o): return True\ndef add(a, b): return E()") ==
        "wrong_answer");
  CHECK(status(add_task(),
               "class I(int):\n    def __eq__(s, o): return True\n    def __index__(s): return 3\n"
               "    __int__ = __index__\ndef add(a, b): return I(0)") == "wrong_answer");
  CHECK(status(add_task(), "class F:\n    __class__ = int\ndef add(a, b): return F()") == "wrong_answer");
  CHECK(status(add_task(), "class I(int): pass\ndef add(a, b): return I(a + b)") == "ok");
  CHECK(status(add_task(), "def add(a, b): return float(a + b)") == "ok");
  CHECK(status(add_task(), "def add(a, b): return float('nan')") == "wrong_answer");
  CHECK(status(add_task(), "def add(a, b): print('noise'); return a + b") == "ok");
  CHECK(status(add_task(),
               "import builtins\nfor n in ('len', 'type', 'isinstance', 'min', 'str', 'TypeError'):\n"
               "    setattr(builtins, n, None)\ndef add(a, b): return a + b") == "ok");
  CHECK(status(add_task(), "x = []\nx.append(x)\ndef add(a, b): return x") == "wrong_answer");
  CHECK(status(add_task(), "def add(a, b):\n    while True: pass") == "timeout");
  CHECK(status(add_task(), "def add(a, b): return [0] * (1 << 30)") == "out_of_memory");
  CHECK(status(call_task("[3]", "[[0,1],{\"a\":null}]"), "def f(n): return (range(2)[0], 1), {'a': None}") ==
        "ok");
  CHECK(status(call_task("[3]", "[0,1,2]"), "def f(n): return list(range(n))") == "ok");
  CHECK(status(call_task("[3]", "[0,1,2]"), "def f(n): return set(range(n))") == "wrong_answer");
  CHECK(status(call_task("[3]", "[0,1,2]"), "def f(n): return (i for i in range(n))") == "wrong_answer");
  CHECK(status(call_task("[3]", "{\"1\":2}"), "def f(n): return {1: 2}") == "ok");
  CHECK(status(call_task("[200]", "1606938044258990275541962092341162602522202993782792835301376"),
               "def f(n): return 2 ** n") == "ok");
  CHECK(status(call_task("[1606938044258990275541962092341162602522202993782792835301376]", "200"),
               "def f(n): return n.bit_length() - 1") == "ok");
  CHECK(status(call_task("[[3,1]]", "[1,3]"), "def f(a):\n    a.sort()\n    return a") == "ok");
  CHECK(status(call_task("[1]", "true"), "def f(a): return 1") == "wrong_answer");
  CHECK(status(call_task("[1]", "\"\\u00e9\""), "def f(a): return 'é'") == "ok");
  CHECK(status(call_task("[1]", "\"a\""), "def f(a): return '\\ud800'") == "wrong_answer");
}

TEST_CASE("assertions run apart from the candidate", "[verify]") {
  const Json check = script_task("def check(c):\n    assert c(2) == 4\n    assert c(3) == 6\n", "check");
  CHECK(status(check, "def f(x): return 2 * x") == "ok");
  CHECK(status(check, "def f(x): return 3 * x") == "wrong_answer");
  CHECK(status(check, "def f(x): return 1 / 0") == "crash");
  CHECK(status(check, "import sys\ndef f(x): sys.exit(0)") == "early_exit");
  CHECK(status(check, "import os\ndef f(x): os._exit(0)") == "early_exit");
  CHECK(status(check, "def f(x):\n    while True: pass") == "timeout");
  CHECK(status(check, "class E:\n    def __eq__(s, o): return True\ndef f(x): return E()") == "wrong_answer");
  CHECK(status(check, "import builtins\nbuiltins.AssertionError = None\ndef f(x): return 0") ==
        "wrong_answer");
  CHECK(status(check, "def g(x): return 0") == "interface_error");
  CHECK(status(script_task("assert f(2) == 4\ntry:\n    f(None)\n    assert False\nexcept TypeError as e:\n"
                           "    assert 'unsupported' in str(e)\n"),
               "def f(x): return 2 * x") == "ok");
  CHECK(status(script_task(
                   "assert f(2) == 4\ntry:\n    f(None)\n    assert False\nexcept TypeError:\n    pass\n"),
               "def f(x): return 2 * (x or 0)") == "wrong_answer");
  CHECK(status(script_task("x = 1\n"), "def f(x): return 2 * x") == "problem_error");
  CHECK(status(script_task("assert f(\n"), "def f(x): return 2 * x") == "problem_error");
  CHECK(status(script_task("assert g(2) == 4"), "def f(x): return 2 * x") == "problem_error");
  CHECK(status(script_task("assert f(lambda: 4) == 4"), "def f(x): return x()") == "problem_error");
  CHECK(status(script_task("assert f((1, 2)) == ((1, 2), {1, 2}, b'x', {(1, 2): None})"),
               "def f(x): return x, set(x), b'x', {x: None}") == "ok");
  CHECK(status(script_task("assert f((1, 2)) == (1, 2)"), "def f(x): return list(x)") == "wrong_answer");
  // A candidate cannot buy an unscorable verdict, nor run code in the tests' process.
  CHECK(status(script_task("assert f(f(2)) == 4"), "def f(x): return {1, 2}") == "wrong_answer");
  CHECK(status(script_task("assert f(2)[0] == 4"), "def f(x): return None") == "wrong_answer");
  Json together = script_task("assert f(lambda: 4) == 4");
  together["check"]["inprocess"] = true;
  const Json verdict = verifier().verdict(together, "def f(x): return x()");
  CHECK(verdict["status"] == "ok");
  CHECK(verdict["flags"] == flags_here({"inprocess"}));
  CHECK(status(together, "def f(x): return 5") == "wrong_answer");
  together["check"]["code"] = "assert all(f(lambda x: x, n) == n for n in [1, 2])";
  CHECK(status(together,
               "import builtins\nbuiltins.all = lambda x: True\nall = builtins.all\ndef f(g, n): return 5") ==
        "wrong_answer");
  together["check"]["code"] = "assert f(lambda: 4) == 4";
  CHECK(status(together, "import os\ndef f(x): os._exit(0)") == "early_exit");
}

TEST_CASE("a program has as many frames as under the interpreter itself", "[verify]") {
  const std::string program =
      "def r(n): return 0 if n == 0 else 1 + r(n - 1)\n"
      "def depth(k):\n    while True:\n        try:\n            r(k)\n            k += 1\n"
      "        except RecursionError:\n            return k\n"
      "print(depth(900))\n";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("leap-frames-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "program.py") << program;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen(("/usr/bin/python3 " + (folder / "program.py").string()).c_str(), "r"), pclose);
  char depth[64] = "";
  REQUIRE(fgets(depth, sizeof depth, pipe.get()));
  std::filesystem::remove_all(folder);
  Json task = sum_task();
  task["check"]["cases"] = Json::array({{{"stdin", ""}, {"stdout", depth}}});
  CHECK(status(task, program) == "ok");
}

TEST_CASE("C++ programs", "[verify]") {
  const Json task = sum_task("cpp");
  CHECK(
      status(task, "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }") ==
      "ok");
  CHECK(status(
            task,
            "#include <cstdio>\nint main() { int a, b; scanf(\"%d %d\", &a, &b); printf(\"%d\", a - b); }") ==
        "wrong_answer");
  CHECK(status(task, "#include <cstdlib>\nint main() { abort(); }") == "crash");
  CHECK(status(task, "#include <cstdio>\nint main() { puts(\"3\"); return 1; }") == "crash");
  CHECK(status(task,
               "int f(volatile char* p) { volatile char x[1000]; return f(x) + *p; } int main() { char c; "
               "return f(&c); }") == "crash");
  CHECK(status(task, "int main() { for (volatile int i = 0;; i = 1) ; }") == "timeout");
  CHECK(status(task, "#include <cstring>\nint main() { for (;;) memset(new char[1 << 20], 1, 1 << 20); }") ==
        "out_of_memory");
  CHECK(status(task, "#include <cstdio>\nint main() { for (;;) puts(\"xxxxxxxxxxxxxxxxxxxxxxxxxx\"); }") ==
        "output_limit");
  CHECK(status(task, "#include <unistd.h>\nint main() { for (;;) fork(); }") != "ok");
  CHECK(status(task,
               "#include <csignal>\n#include <unistd.h>\nint main() { kill(getppid(), 9); kill(-1, 9); }") !=
        "ok");
  CHECK(status(task, "#include <sys/ptrace.h>\nint main() { ptrace(PTRACE_ATTACH, 1, 0, 0); }") ==
        "sandbox_violation");
  CHECK(status(task, "#include \"/etc/passwd\"\nint main() {}") == "compile_error");
  CHECK(status(task, "asm(\".incbin \\\"/etc/shadow\\\"\");\nint main() {}") == "compile_error");
  CHECK(status(task, "") == "no_code");
  const Json verdict = verifier().verdict(task, "int main() {\n  return x;\n}");
  CHECK(verdict["status"] == "compile_error");
  const std::string feedback = verdict["feedback"];
  CHECK(feedback.find("line 2:10: error:") != std::string::npos);
  CHECK(feedback.find("/tmp") == std::string::npos);
}

TEST_CASE("C++ with all headers, compiled beforehand", "[verify]") {
  // The first few are compiled without.
  for (int i = 0; i < 7; ++i) {
    const std::string all = "// number " + std::to_string(i) + "\n#include <bits/stdc++.h>\n";
    INFO(i);
    CHECK(status(sum_task("cpp"), all + "#include <bits/stdc++.h>\n#include <vector>\nusing namespace std;\n"
                                        "int main() { int a, b; cin >> a >> b; cout << a + b; }") == "ok");
    CHECK(status(add_task("cpp"), all + "int add(int a, int b) { return a + b; }") == "ok");
    const Json verdict = verifier().verdict(sum_task("cpp"), all + "int main() {\n  return x;\n}");
    CHECK(verdict["status"] == "compile_error");
    CHECK(verdict["feedback"].get<std::string>().find("line 4:10: error:") != std::string::npos);
  }
  CHECK(status(sum_task("cpp"),
               "#include <bits/stdc++.h>\n#include \"leap-pch/bits/stdc++.h.gch\"\nint main() {}") ==
        "compile_error");
  using leap::verify::begins_with_all_headers;
  CHECK(begins_with_all_headers("/* a\nb */ // c\n # include  <bits/stdc++.h> // all\n"));
  CHECK_FALSE(begins_with_all_headers("#pragma GCC optimize(\"O3\")\n#include <bits/stdc++.h>\n"));
  CHECK_FALSE(begins_with_all_headers("/* #include <bits/stdc++.h>"));
}

TEST_CASE("C++ calls", "[verify]") {
  Json task = add_task("cpp");
  CHECK(status(task, "int add(int a, int b) { return a + b; }") == "ok");
  CHECK(status(task, "#define int long long\nint add(int a, int b) { return a + b; }\nsigned main() {}") ==
        "ok");
  CHECK(status(task, "class Solution {\n public:\n  int add(int a, int b) { return a + b; }\n};") == "ok");
  CHECK(status(task, "int add(int a, int b) { return a - b; }") == "wrong_answer");
  CHECK(status(task, "int sub(int a, int b) { return a - b; }") == "interface_error");
  CHECK(status(task, "#include <cstdlib>\nint add(int a, int b) { exit(0); }") == "early_exit");
  CHECK(
      status(
          task,
          "#include <cstdlib>\nstruct S { S() { exit(0); } } s;\nint add(int a, int b) { return a + b; }") ==
      "early_exit");
  CHECK(status(task, "#include <vector>\nint add(int a, int b) { return std::vector<int>().at(a); }") ==
        "crash");
  task["entry_point"] = "f";
  task["check"]["cases"] = Json::parse(
      R"([{"args": [[[1, 2], []], "x", 1.5, true, 5000000000], "expect": [["x", "1.500000"], ["1", "2"], []]}])");
  CHECK(
      status(
          task,
          "#include <string>\n#include <vector>\nusing namespace std;\n"
          "vector<vector<string>> f(const vector<vector<int>>& v, string s, double d, bool b, long long n) "
          "{\n"
          "  vector<vector<string>> out{{s, to_string(d)}};\n"
          "  for (auto& r : v) { out.emplace_back(); for (int x : r) out.back().push_back(to_string(x)); }\n"
          "  return b && n == 5000000000 ? out : vector<vector<string>>{};\n}") == "ok");
}

TEST_CASE("C++ assertions run apart from the candidate", "[verify]") {
  const Json check = script_task(
      "template <class F> void check(F c) {\n  assert(c(2) == 4);\n  assert(c(3) == 6);\n}", "check", "cpp");
  CHECK(status(check, "int f(int x) { return 2 * x; }") == "ok");
  CHECK(status(check, "int f(int x) { return 3 * x; }") == "wrong_answer");
  CHECK(status(check, "#define NDEBUG\n#define assert(x)\nint f(int x) { return 3 * x; }") == "wrong_answer");
  CHECK(status(check,
               "#include <csignal>\n#include <cstdlib>\nstruct S { S() { signal(SIGABRT, [](int) { _Exit(0); "
               "}); } } s;\n"
               "int f(int x) { return 3 * x; }") == "wrong_answer");
  CHECK(status(check, "#include <cstdlib>\nint f(int x) { std::_Exit(0); }") == "early_exit");
  CHECK(status(check,
               "struct Any { template <class T> bool operator==(const T&) const { return true; } };\n"
               "Any f(int) { return {}; }") != "ok");
  CHECK(status(script_task("assert(f(2) == 4);", "", "cpp"), "int f(int x) { return 2 * x; }") == "ok");
  CHECK(status(script_task("int main() { assert(f(2) == 4); }", "", "cpp"),
               "int f(int x) { return 2 * x; }") == "ok");
  CHECK(status(script_task("int main() { assert(f(2) == 4); }", "", "cpp"), "int f(int x) { return 1; }") ==
        "wrong_answer");
  Json pointer = script_task("int a = 4; assert(f(&a) == 4);", "", "cpp");
  pointer["starter"] = "int f(int* x) {";
  const Json verdict = verifier().verdict(pointer, std::string("int f(int* x) { return *x; }"));
  CHECK(verdict["status"] == "ok");
  CHECK(verdict["flags"] == flags_here({"inprocess"}));
  CHECK(
      status(pointer, "#include <cstdlib>\nstruct S { S() { exit(0); } } s;\nint f(int* x) { return 0; }") ==
      "early_exit");
  CHECK(status(pointer,
               "#define NDEBUG\n#define assert(x)\n#define int static int\nint f(int* x) { return 0; }") !=
        "ok");
  CHECK(status(pointer,
               "#include <cstdlib>\nextern \"C\" void __assert_fail(const char*, const char*, unsigned, "
               "const char*) {}\n"
               "extern \"C\" void _exit(int) { for (;;) ; }\nextern \"C\" long read(int, void*, unsigned "
               "long) { exit(0); }\n"
               "int f(int* x) { return 0; }") == "wrong_answer");
}

TEST_CASE("checkers", "[verify]") {
  Json task = sum_task();
  task["check"]["checker"] = {
      {"language", "python"},
      {"code",
       "import sys\na = open(sys.argv[1]).read().split()\nb = open(sys.argv[2]).read()\n"
       "sys.exit(0 if int(b) > int(a[0]) else 1)"}};
  CHECK(status(task, kRead + "print(a + 5)") == "ok");
  CHECK(status(task, kRead + "print(a)") == "wrong_answer");
  CHECK(status(task, "print('nonsense')") == "wrong_answer");
  task["check"]["checker"]["code"] = "import sys\nsys.exit(3)";
  CHECK(status(task, kRead + "print(a + b)") == "problem_error");
  task["check"]["checker"]["code"] =
      "import sys\nsys.exit(3 if open('output').read() != open('answer').read() else 0)";
  CHECK(status(task, kRead + "print(a)") == "wrong_answer");  // a failure of the checker cannot be bought
}

TEST_CASE("records: verdicts, states, bad tasks", "[verify]") {
  Json record = {{"id", "x"}, {"task", sum_task()}};
  record["rollouts"] = Json::array();
  const std::string right = kRead + "print(a + b)";
  record["rollouts"].push_back(
      {{"turns", Json::array({{{"completion", "So:\n```python\n" + right + "\n```\n"}}})}});
  record["rollouts"].push_back({{"turns", Json::array({{{"code", "print(0)"}}, {{"code", right}}})}});
  record["rollouts"].push_back(
      {{"turns", Json::array({{{"code", right}, {"verdict", {{"status", "crash"}}}}})},
       {"state", "stopped"}});
  record["rollouts"].push_back({{"turns", Json::array({{{"completion", ""}}})}});
  CHECK(verifier().verify_record(record));
  CHECK(record["rollouts"][0]["state"] == "solved");
  CHECK(record["rollouts"][1]["state"] == "solved");
  CHECK(record["rollouts"][1]["turns"][0]["verdict"]["status"] == "wrong_answer");
  CHECK(record["rollouts"][2]["turns"][0]["verdict"] == Json({{"status", "crash"}}));
  CHECK(record["rollouts"][2]["state"] == "stopped");
  CHECK(record["rollouts"][3]["turns"][0]["verdict"]["status"] == "no_code");
  CHECK(record["rollouts"][3]["state"] == "open");
  const std::string once = record.dump();
  CHECK_FALSE(verifier().verify_record(record));
  CHECK(record.dump() == once);

  Json task = sum_task();
  task["check"]["type"] = "kernel";
  CHECK_THROWS_AS(status(task, right), leap::RecordError);
  task = sum_task();
  task["check"]["cases"] = Json::array();
  CHECK(status(task, right) == "problem_error");
  task["check"].erase("type");
  CHECK_THROWS_AS(status(task, right), leap::RecordError);
  task = sum_task();
  task["check"]["cases"][1].erase("stdout");
  CHECK_THROWS_WITH(status(task, right), Catch::Contains("task.check.cases[1].stdout"));
}

TEST_CASE("verdicts and compiled programs are kept by content", "[verify]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("leap-cache-test-" + std::to_string(getpid()));
  leap::verify::Options options;
  options.cache = (folder / "deep").string();
  auto files = [&] {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) out.push_back(entry.path());
    return out;
  };
  {
    Verifier first(options), second(options);
    const std::string code = kRead + "print(a - b)";
    Json fresh = first.verdict(sum_task(), code);
    CHECK_FALSE(fresh["measured"].contains("cached"));
    CHECK(files().size() == 1);
    Json kept = second.verdict(sum_task(), code);
    CHECK(kept["measured"]["cached"] == true);
    kept["measured"].erase("cached");
    CHECK(kept.dump() == fresh.dump());
    // Another check, other limits, other code: other verdicts.
    Json other = sum_task();
    other["check"]["cases"][0]["stdout"] = "-1";
    CHECK(first.verdict(other, code)["passed"] == 1);
    other["limits"]["cpu_s"] = 2;
    CHECK_FALSE(first.verdict(other, code)["measured"].contains("cached"));
    CHECK(first.verdict(other, kRead + "print(a + b)")["passed"] == 1);
    // A damaged file counts as none.
    for (const auto& file : files()) std::filesystem::resize_file(file, 100);
    CHECK_FALSE(first.verdict(sum_task(), code)["measured"].contains("cached"));
    // What may end otherwise another time is not kept.
    const std::size_t before = files().size();
    Json sleepy = sum_task();
    sleepy["limits"]["wall_s"] = 0.3;
    CHECK(first.verdict(sleepy, std::string("import time\ntime.sleep(9)"))["status"] == "timeout");
    CHECK(files().size() == before);
    // A compiled program serves another check.
    const std::string sum =
        "#include <cstdio>\nint main() { int a, b; scanf(\"%d%d\", &a, &b); printf(\"%d\", a + b); }";
    CHECK(first.verdict(sum_task("cpp"), sum)["status"] == "ok");
    Json one = sum_task("cpp");
    one["check"]["cases"].erase(1);
    const Json again = first.verdict(one, sum);
    CHECK(again["status"] == "ok");
    CHECK(again["measured"]["compile_s"] == 0);
  }
  std::filesystem::remove_all(folder);
  options.cache = "/proc/none";
  CHECK_THROWS_AS(Verifier(options), leap::Error);
}

TEST_CASE("problems that give reward for nothing", "[verify]") {
  auto lint = [](Json task) {
    Json record = {{"id", "x"}, {"task", std::move(task)}};
    leap::verify::lint(verifier(), record);
    return record["lint"];
  };
  for (const char* language : {"python", "cpp"}) {
    Json task = sum_task(language);
    CHECK(lint(task).dump() == R"({"gameable":false,"passed_by":[]})");
    task["check"]["cases"][1]["stdout"] = "3\n";
    CHECK(lint(task)["passed_by"] == Json({"constant"}));
    for (int i = 0; i < 2; ++i) task["check"]["cases"][i]["stdout"] = task["check"]["cases"][i]["stdin"];
    CHECK(lint(task)["passed_by"] == Json({"echo"}));
    for (int i = 0; i < 2; ++i) task["check"]["cases"][i]["stdout"] = "";
    CHECK(lint(task)["passed_by"] == Json({"empty", "constant"}));
    task = add_task(language);
    task["starter"] = language == std::string("cpp") ? "int add(int a, int b) {\n" : "";
    CHECK(lint(task)["gameable"] == false);
    for (int i = 0; i < 2; ++i) task["check"]["cases"][i]["expect"] = task["check"]["cases"][i]["args"][0];
    CHECK(lint(task)["passed_by"] == Json({"echo"}));
    for (int i = 0; i < 2; ++i) task["check"]["cases"][i]["expect"] = 7;
    CHECK(lint(task)["passed_by"] == Json({"constant"}));
  }
  Json task = add_task();
  task["solution"] = "def add(a, b): return a + b";
  CHECK(lint(task).dump() == R"({"gameable":false,"passed_by":[],"solution":"ok"})");
  task["solution"] = "import time\ndef add(a, b): return a + b + (time.time_ns() & 1)";
  CHECK(lint(task)["solution"] == "wrong_answer");
  CHECK(lint(script_task("def check(c):\n    assert c(2) is not None\n", "check"))["passed_by"] ==
        Json({"constant", "echo"}));
  CHECK(lint(script_task("x = 1\n")).contains("error"));
}

TEST_CASE("what happened to one record, for people", "[verify]") {
  Json record = {{"id", "x"}, {"task", sum_task()}};
  record["rollouts"] = Json::array({{{"turns", Json::array({{{"code", kRead + "print(a * b)\nexit(0)"}}})}}});
  const std::string text = verifier().explain(record);
  for (const char* part :
       {"record x", "print(a * b)", "limits: 1 s of CPU time", "test 2 (hidden): wrong_answer", "11 777",
        "788", "8547", "exit status 0", "verdict: wrong_answer, passed 0 of 2"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("stopping at the first failure; several threads at once", "[verify]") {
  Verifier hasty({leap::sandbox::Mode::kAuto, true});
  const Json verdict = hasty.verdict(sum_task(), std::string("print(0)"));
  CHECK(verdict["ran"] == 1);
  CHECK(verdict["total"] == 2);
  std::vector<std::string> statuses(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < statuses.size(); ++i)
    threads.emplace_back([&, i] {
      statuses[i] = hasty.verdict(sum_task(), kRead + (i % 2 ? "print(a + b)" : "print(a - b)"))["status"];
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < statuses.size(); ++i) CHECK(statuses[i] == (i % 2 ? "ok" : "wrong_answer"));
}

TEST_CASE("without a sandbox, for trusted code", "[verify]") {
  Verifier bare({leap::sandbox::Mode::kNone, false});
  const Json verdict = bare.verdict(sum_task(), kRead + "print(a + b)");
  CHECK(verdict["status"] == "ok");
  CHECK(verdict["flags"] == Json::array({"no_sandbox"}));
  CHECK(bare.verdict(sum_task(), std::string("while True: pass"))["status"] == "timeout");
}
