#include <catch2/catch.hpp>
#include <filesystem>

#include "decomp/cpp_parts.hpp"
#include "decomp/engine.hpp"
#include "decomp/judge.hpp"
#include "verify/verify.hpp"

using namespace leap;
using namespace leap::decomp;

namespace {

const char* const kTop = "#include <bits/stdc++.h>\nusing namespace std;\n";

Json task_of(std::vector<std::pair<std::string, std::string>> cases) {
  Json task = {{"language", "cpp"},
               {"standard", "gnu++17"},
               {"check", {{"type", "stdio"}, {"cases", Json::array()}}},
               {"limits", {{"cpu_s", 0.4}, {"wall_s", 20}, {"memory_mb", 256}, {"output_kb", 64}}}};
  for (const auto& [input, output] : cases)
    task["check"]["cases"].push_back({{"stdin", input}, {"stdout", output}});
  return task;
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "leap-decomp-cpp-test";
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

/// All programs, each compiled as a whole by a Verifier, against the engine in both modes. The tree's result.
Recombination same_as_whole(const Decomposition& decomposition, const Json& task) {
  static Folder folder;
  static verify::Verifier verifier(verify::Options{sandbox::Mode::kAuto, false, folder.path.string()});
  const Judge judge(task);
  auto options = [](Mode mode, bool all) {
    EngineOptions out;
    out.mode = mode;
    out.all_outcomes = all;
    return out;
  };
  // The library's headers are compiled once for each of these.
  static Engine runner(options(Mode::kRun, false)), walker(options(Mode::kAuto, true));
  const Recombination run = runner.evaluate(decomposition, task, "id", 0);
  const Recombination tree = walker.evaluate(decomposition, task, "id", 0);
  std::uint64_t programs = 0;
  tree.outcomes.for_each_box([&](const Box& box) { return programs += box.programs, true; });
  CHECK(programs == program_count(decomposition));
  CHECK(tree.settled);
  std::vector<int> choice(decomposition.functions.size(), 0);
  for (bool more = true; more;) {
    const std::string text = program_text(decomposition, choice);
    std::string truth;
    for (std::size_t test = 0; test < judge.tests(); ++test)
      truth += letter_of_status(
          verifier.verdict(judge.single(test), text)["status"].get_ref<const std::string&>());
    INFO(text);
    CHECK(tree.outcomes.at(choice) == truth);
    CHECK(run.outcomes.at(choice) ==
          truth.substr(0, std::min(truth.find_first_not_of('P'), truth.size() - 1) + 1));
    more = false;
    for (std::size_t l = choice.size(); l-- > 0 && !more;) {
      more = ++choice[l] < static_cast<int>(decomposition.functions[l].implementations.size());
      if (!more) choice[l] = 0;
    }
  }
  return tree;
}

}  // namespace

TEST_CASE("C++: implementations that end the program, or do not compile", "[decomp]") {
  const Decomposition d{
      std::string(kTop) + "int f(int x);\nint g(int x);",
      {{"f",
        {"int f(int x) { return 2 * x; }", "int f(int x) { cout << 4 << endl; exit(0); }",
         "int f(int x) { vector<int> v; return v.at(x); }",
         "int f(int x) {\n  static int calls = 0;\n  return ++calls + x;\n}",
         "int f(int x) { volatile int i = 0; while (true) i = x; return i; }",
         "int f(int x) { vector<vector<char>> v; while (true) v.emplace_back(1 << 20, 'x'); }",
         "int f(int x) { return 2 * x }"}},
       {"g",
        {"int g(int x) { return f(x); }", "int g(int x) { return x < 2 ? 2 : f(x) - f(x) + 4; }",
         "int g(int x) { if (x > 1) { return f(x); return 0; }"}}},
      "int main() { int x; cin >> x; cout << g(x) << endl; }"};
  const Recombination tree = same_as_whole(d, task_of({{"1", "2\n"}, {"2", "4"}}));
  CHECK(tree.mode == "tree");
  CHECK(tree.why.empty());
  CHECK(tree.solved == 3);
  // g's second implementation does not call f in the first test.
  CHECK(tree.outcomes.at({2, 1}) == "PE");
  CHECK(tree.outcomes.at({5, 0}) == "MM");
  CHECK(tree.outcomes.at({4, 0}) == "TT");
  CHECK(tree.outcomes.at({6, 0}) == "CC");
}

TEST_CASE("C++: helpers, and what only whole programs can show", "[decomp]") {
  const Decomposition d{
      std::string(kTop) + "long long f(int x);\nlong long g(int x);",
      {{"f",
        {"const int kStep = 3;\nint helper(int x) { return x + kStep; }\nlong long f(int x) { return "
         "helper(x); }",
         "int count = 3;\nlong long f(int x) { return x + count; }",
         "struct Pair { int a, b; };\nlong long f(int x) { Pair p{x, 3}; return p.a + p.b; }",
         "#define TWO 2\nlong long f(int x) { return x + TWO; }"}},
       {"g",
        {"long long g(int x) { return helper(x); }",
         "int helper(int x) { return x; }\nlong long g(int x) { return f(x) + helper(0); }",
         "template <class T> T same(T x) { return x; }\nlong long g(int x) { return same(f(x)); }",
         "long long g(int x, int y = 0) { return f(x) + y; }",
         "long long g(int x) { return f(x) + TWO - 2; }"}}},
      "int main() { int x; cin >> x; cout << g(x) << endl; }"};
  const Recombination tree = same_as_whole(d, task_of({{"1", "4\n"}}));
  CHECK(!tree.why.empty());
  CHECK(tree.outcomes.at({0, 1}) == "C");
  CHECK(tree.outcomes.at({0, 0}) == "P");
  CHECK(tree.outcomes.at({1, 1}) == "C");
}

TEST_CASE("C++: streams, globals of the preamble, recursion across functions", "[decomp]") {
  const Decomposition d{
      std::string(kTop) +
          "struct Log { vector<string> lines; ~Log() { for (auto& l : lines) puts(l.c_str()); } };\n"
          "Log history;\nint depth = 0;\nbool even(int n);\nbool odd(int n);\nint next_number();",
      {{"even",
        {"bool even(int n) { ++depth; return n == 0 ? true : odd(n - 1); }",
         "bool even(int n) { history.lines.push_back(\"even\"); return n % 2 == 0; }"}},
       {"odd",
        {"bool odd(int n) { ++depth; return n == 0 ? false : even(n - 1); }",
         "bool odd(int n) { return !even(n); }"}},
       {"next_number",
        {"int next_number() { int x; if (scanf(\"%d\", &x) != 1) return -1; return x; }",
         "int next_number() { int x; return cin >> x ? x : -1; }",
         "int next_number() { cout << 'n'; printf(\"m\"); return 2; }"}}},
      "int main() {\n  const int a = next_number(), b = next_number();\n"
      "  printf(\"%d \", even(a));\n  cout << odd(b) << ' ' << depth << '\\n';\n}"};
  const Recombination tree = same_as_whole(d, task_of({{"4 3", "1 1 9\n"}, {"0 0\n", "1 0 2\n"}}));
  CHECK(tree.mode == "tree");
  CHECK(tree.why.empty());
  CHECK(tree.solved == 4);
}

TEST_CASE("C++: what a run does to others of its sandbox", "[decomp]") {
  const Decomposition d{
      std::string(kTop) +
          "#include <signal.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
          "int first = [] { int x = 0; cin >> x; return x; }();\n"
          "struct Last { ~Last() { cout << 'l'; } } last;\n"
          "int f(int x);\nint g(int x);",
      {{"f",
        {"int f(int x) { return 2 * x; }",
         "int f(int x) { kill(-1, SIGKILL); kill(getppid(), SIGKILL); kill(getppid(), SIGSTOP); return 2 * "
         "x; }",
         "int f(int x) { for (int fd = 3; fd < 256; ++fd) close(fd); return 2 * x; }",
         "int f(int x) {\n  int old = chdir(\"/tmp\");\n  old += mkdir(\"deep\", 0) + mkdir(\"/dev/shm/x\", "
         "0777);\n"
         "  return old == 0 ? 2 * x : -1;\n}",
         "int f(int x) { cerr << \"std::bad_alloc\"; if (x) abort(); return 0; }",
         "int f(int x) { int* a = new int[1000]; for (int i = 0; i < 1000; ++i) x += a[i]; return 2 * x; }",
         "int f(int x) { signal(SIGABRT, SIG_IGN); alarm(1); cout << 's' << flush; raise(SIGKILL); return x; "
         "}"}},
       {"g",
        {"int g(int x) { return f(x); }",
         "int g(int x) { volatile char room[100]; room[0] = 1; return x <= 0 ? room[0] - 1 : g(x - 1) + 2 * "
         "room[0]; }"}}},
      "int main() { int x; cin >> x; cout << g(x) + first << endl; }"};
  const Recombination tree = same_as_whole(d, task_of({{"1 2", "5\nl"}, {"1 300000", "600001\nl"}}));
  CHECK(tree.mode == "tree");
  CHECK(tree.outcomes.at({0, 1}) == "PP");
  // Without namespaces nobody makes folders there.
  const bool bwrap = leap::sandbox::resolve(leap::sandbox::Mode::kAuto) == leap::sandbox::Mode::kBwrap;
  CHECK(tree.outcomes.at({3, 0}) == (bwrap ? "PP" : "WW"));
}

TEST_CASE("C++: what is not compiled side by side", "[decomp]") {
  const std::string main = "int main() { cout << twice(2) << endl; }";
  auto why = [&](const std::string& preamble, const std::string& code, const std::string& end) {
    const CppParts parts =
        read_cpp({preamble, {{"twice", {"int twice(int x) { return 2 * x; }", code}}}, end});
    if (!parts.why.empty()) return parts.why;
    return parts.functions[0][1].part == CppPart::kShared ? "" : parts.functions[0][1].why + "!";
  };
  CHECK(why(std::string(kTop) + "#include <fstream>",
            "char name() { return *\"ERROR\"; }\nint twice(int x) { return x + x; }", main)
            .empty());
  CHECK(why(kTop, "// other\nint twice(int x) { return x + x; }", main).empty());
  CHECK(
      why(kTop, "#include <vector>\nusing namespace std;\nint twice(int n) { return n + n; }", main).empty());
  for (const char* code :
       {"int twice(long x) { return x + x; }", "int twice(int x, int y = 0) { return x + x; }",
        "static int twice(int x) { return x + x; }", "auto twice(int x) { return x + x; }",
        "template <class T> T twice(T x) { return x + x; }",
        "vector<int> memo(9);\nint twice(int x) { return x + x; }",
        "int twice(int x) { return x + x; }\nint twice(double x) { return 0; }",
        "using ll = long long;\nint twice(int x) { return x + x; }",
        "typedef int Int;\nint twice(int x) { return x + x; }",
        "int other(int);\nint twice(int x) { return x + x; }",
        "const char* twice(int x) { return R\"(})\"; }", "int twice(int x) { asm(\"nop\"); return x + x; }",
        "int twice(int x) { return __LINE__; }", "int twice(int x) { return x + \\\n x; }",
        "int x = twice(1);\nint twice(int x) { return x + x; }",
        "int main() { return 0; }\nint twice(int x) { return x + x; }",
        "int twice(int x) { ofstream(\"leaprt_calls\"); return x + x; }"})
    CHECK(!why(kTop, code, main).empty());
  const std::string plain = "int twice(int x) { return x + x; }";
  CHECK(!why(std::string(kTop) + "#if 1\n#endif", plain, main).empty());
  CHECK(
      !why(std::string(kTop) + "extern \"C\" void* malloc(size_t) noexcept { return nullptr; }", plain, main)
           .empty());
  CHECK(!why(std::string(kTop) + "#pragma redefine_extname mine malloc", plain, main).empty());
  CHECK(why(std::string(kTop) + "#pragma GCC optimize(\"O3\")", plain, main).empty());
  CHECK(!why(std::string(kTop) + "#define END }\n#define BEGIN {", plain, main).empty());
  CHECK(!why(std::string(kTop) + "#define SHOW(x) cout << #x", plain, main).empty());
  CHECK(!why(std::string(kTop) + "#define twice thrice", plain, main).empty());
  CHECK(!why(kTop, plain, "int main(int argc, char** argv) { return twice(argc); }").empty());
  CHECK(read_cpp({kTop, {{"twice", {plain, "int twice(int x) { return x;"}}}, main}).functions[0][1].part ==
        CppPart::kUnbalanced);
  CHECK(!read_cpp({kTop, {{"twice", {"int twice(int x) { return clock(); }"}}}, main}).tree.empty());
}
