#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "cudacpu/cudacpu.hpp"

using namespace leap::cudacpu;

namespace {

Translation translated(const std::string& source) {
  return translate(source, profile("sm_80"));
}

/// Without its spaces.
std::string tight(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

std::string only_finding(const std::string& source) {
  const Translation out = translated(source);
  REQUIRE(out.findings.size() == 1);
  return out.findings[0].status + " " + std::to_string(out.findings[0].line) + " " + out.findings[0].message;
}

}  // namespace

TEST_CASE("lines stay where they are", "[cudacpu]") {
  const std::string source =
      "#define RUN(k, ...) \\\n  k<<<1, 2>>>(__VA_ARGS__)\n__global__ void k(int* p,\n int n)\n{\n "
      "__shared__ int a[3],\n  b;\n"
      "}\nvoid f() {\n k<<<\n  1, // one\n  2>>>(0,\n  1);\n}\n";
  const std::string text = translated(source).text;
  const std::string body = text.substr(text.find("#line 1"));
  CHECK(std::count(body.begin(), body.end(), '\n') == std::count(source.begin(), source.end(), '\n') + 2);
}

TEST_CASE("strings, comments and shifts are left alone", "[cudacpu]") {
  for (const std::string source :
       {"const char* s = \"k<<<1, 2>>>(3)\";", "// k<<<1, 2>>>(3) __shared__ int x;", "/* __global__ */",
        "auto s = R\"x(k<<<1,2>>>(__shared__))x\";", "int v = a << 2 >> 1; A<B<C<int>>> x; char c = '<';"}) {
    const Translation out = translated(source);
    CHECK(has(out.text, source));
    CHECK(out.findings.empty());
  }
}

TEST_CASE("launches", "[cudacpu]") {
  CHECK(has(tight(translated("void f() { a::b<int, 3><<<g, dim3(1, 2), 0, s>>>(x); }").text),
            "(::leap_cuda::push_configuration(g,dim3(1,2),0,s),a::b<int,3>(x));"));
  CHECK(has(tight(translated("void f() { (*p)<<<1, 2>>>(); }").text),
            "(::leap_cuda::push_configuration(1,2),(*p)());"));
  CHECK(has(tight(translated("void f() { t[i].k<<<f<3>(), n >> 2>>>(x, (y)); }").text),
            "(f<3>(),n>>2),t[i].k(x,(y)));"));
  CHECK(only_finding("void f() {\n k<<<1, 2>>>;\n}").find("compile_error 2") == 0);
}

TEST_CASE("what is not covered is named", "[cudacpu]") {
  CHECK(has(only_finding("#include <vector>\n#include <cufft.h>\n"), "interface_error 2"));
  CHECK(has(only_finding("#include <cufft.h>\n"), "<cufft.h>"));
  CHECK(has(only_finding("__global__ void k() {\n k<<<1, 1>>>();\n}"), "interface_error 2"));
  CHECK(has(only_finding(
                "__device__ void f(unsigned* a) { asm(\"mma.sync.aligned.m16n8k8 %0;\" : \"=r\"(a[0])); }"),
            "inline PTX mma.sync.aligned.m16n8k8"));
  CHECK(has(only_finding("#include \"/etc/passwd\"\n"), "compile_error 1"));
  CHECK(has(only_finding("__global__ void k() { __shared__ int x = 3; }"), "compile_error 1"));
  CHECK(has(only_finding("__global__ void __cluster_dims__(2, 1, 1) k() {}"), "clusters"));
}

TEST_CASE("messages of the compiler", "[cudacpu]") {
  CHECK(uncovered_feature("a.cpp:3:5: error: 'cudaFooBar' was not declared in this scope") == "cudaFooBar");
  CHECK(uncovered_feature("a.cpp:3:5: error: \xe2\x80\x98"
                          "cuInit\xe2\x80\x99 was not declared in this scope") == "cuInit");
  CHECK(uncovered_feature("a.cpp:3:5: error: 'BlockShuffle' is not a member of 'cub'") == "BlockShuffle");
  CHECK(uncovered_feature("a.cpp:3:5: error: 'mine' was not declared in this scope").empty());
  CHECK(uncovered_feature("a.cpp:1:9: fatal error: mine.h: No such file or directory").empty());
}

TEST_CASE("profiles", "[cudacpu]") {
  CHECK(profile("sm_80").cuda_arch == 800);
  CHECK(profile("sm_90").optin_shared_bytes == 227 << 10);
  CHECK_THROWS_AS(profile("sm_12"), leap::UsageError);
  CHECK(has(translate("", profile("sm_90")).text, "__CUDA_ARCH__ 900"));
  CHECK(version().size() == 16);
}
