#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cudacpu/front_end.hpp"
#include "cudacpu/needs.hpp"

using namespace leap::cudacpu;

namespace {

/// The pass in a directory of its own.
class FrontEnd {
 public:
  FrontEnd() {
    std::string name = (std::filesystem::temp_directory_path() / "front-end-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    for (const SourceFile& file : front_end_files()) lay(file.path, file.text);
  }
  ~FrontEnd() { std::filesystem::remove_all(directory_); }
  FrontEnd(const FrontEnd&) = delete;
  FrontEnd& operator=(const FrontEnd&) = delete;

  std::vector<Finding> operator()(const std::string& source) {
    lay("k.cu", source);
    std::string command = "cd " + directory_.string() + " &&";
    for (const std::string& word : front_end_command(front_end_compiler(), "k.cu"))
      command += " '" + word + "'";
    command += " 2>messages";
    (void)!std::system(command.c_str());
    std::ifstream in(directory_ / "messages");
    auto findings = front_end_findings(std::string{std::istreambuf_iterator<char>(in), {}}, "k.cu");
    INFO(source);
    CHECK((findings.empty() || needs_front_end(source)));
    return findings;
  }

 private:
  void lay(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::filesystem::path directory_;
};

}  // namespace

TEST_CASE("only errors of execution spaces about the candidate's own names are findings", "[cudacpu]") {
  const auto findings = front_end_findings(
      "In file included from k.cu:1:\n"
      "/usr/include/x.h:3:1: error: no matching function for call to 'f'\n"
      "/usr/include/x.h:1:1: note: candidate function not viable: call to __host__ function from __global__ "
      "function\n"
      "k.cu:9:3: error: use of undeclared identifier '__shfl_sync'\n"
      "k.cu:7:3: error: no matching function for call to 'helper'\n"
      "k.cu:2:1: note: candidate function not viable: call to __host__ function from __global__ function\n"
      "k.cu:8:3: error: no matching function for call to 'mixed'\n"
      "k.cu:2:1: note: candidate function not viable: call to __host__ function from __global__ function\n"
      "k.cu:3:1: note: candidate function not viable: requires 2 arguments, but 1 was provided\n"
      "k.cu:5:3: error: kernel function type 'int ()' must have void return type\n",
      "k.cu");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].line == 5);
  CHECK(findings[1].line == 7);
  CHECK(findings[1].status == "compile_error");
  CHECK(findings[1].message == "a __host__ function is called from a __global__ function: helper");
}

TEST_CASE("calls across execution spaces are found at their line", "[cudacpu]") {
  if (front_end_compiler().empty()) return;
  FrontEnd pass;
  const std::pair<int, const char*> wrong[] = {
      {2, "float twice(float x) { return 2 * x; }\n__global__ void k(float* y) { y[0] = twice(y[0]); }\n"},
      {2,
       "__device__ float twice(float x) { return 2 * x; }\nvoid solve(float* y) { y[0] = twice(1.0f); }\n"},
      {3, "#include <vector>\n__global__ void k(float* y) {\n  std::vector<float> v(4); y[0] = v[0];\n}\n"},
      {3, "#include <cstdlib>\n__global__ void k(int* y) {\n  y[0] = rand();\n}\n"},
      {2, "int n = 4;\n__global__ void k(int* y) { y[0] = n; }\n"},
      {1, "__global__ int k(int* y) { return 1; }\n"},
      {2, "__global__ void k(int* y) {}\nvoid solve(int* y) { k(y); }\n"},
      {2, "void solve(int* y) {\n  __shared__ int s[4]; s[0] = 1;\n}\n"},
      {2,
       "template <class T> T twice(T x) { return x + x; }\n__global__ void k(int* y) { y[0] = twice(3); }\n"},
      {2, "struct A { int f() { return 1; } };\n__global__ void k(int* y) { y[0] = A().f(); }\n"},
      {2, "__global__ void k(int* y) {\n  __shared__ int s = 3; y[0] = s;\n}\n"},
      {4,
       "#include <algorithm>\n__global__ void k(float* y, int n) {\n  if (threadIdx.x == 0)\n    "
       "std::sort(y, y + n);\n}\n"},
  };
  for (const auto& [line, source] : wrong) {
    CAPTURE(source);
    const auto findings = pass(source);
    REQUIRE(!findings.empty());
    CHECK(findings[0].line == line);
    CHECK(findings[0].message.find('/') == std::string::npos);
  }
}

TEST_CASE("what nvcc takes is not refused", "[cudacpu]") {
  if (front_end_compiler().empty()) return;
  FrontEnd pass;
  const char* const right[] = {
      "#include <cuda_runtime.h>\n#include <cmath>\n#include <algorithm>\n"
      "constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }\n"
      "__host__ __device__ inline float both(float x) { return x + 1; }\n"
      "__device__ __forceinline__ float own(float x) { return sqrtf(x) + std::sqrt(x) + fmaxf(x, 0.f); }\n"
      "__global__ void k(float* y, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) y[i] = own(y[i]) + both(y[i]) + ceil_div(n, 3) + std::max(y[i], 1.f) + __expf(y[i]) + "
      "min(n, 3);\n"
      "  if (i == 0) printf(\"%d\\n\", n);\n"
      "  assert(n > 0);\n}\n"
      "extern \"C\" void solve(float* y, int n) {\n"
      "  dim3 grid(ceil_div(n, 256));\n  k<<<grid, 256>>>(y, n);\n  both(2);\n  "
      "cudaDeviceSynchronize();\n}\n",
      "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
      "__constant__ float taps[5];\n__device__ int counter;\n"
      "template <int N>\n__global__ void __launch_bounds__(128) k(const __half* x, __half* y) {\n"
      "  __shared__ float s[N];\n  auto block = cg::this_thread_block();\n"
      "  s[threadIdx.x] = __half2float(x[threadIdx.x]) * taps[0];\n  block.sync();\n"
      "  y[threadIdx.x] = __float2half(s[N - 1 - threadIdx.x]);\n  atomicAdd(&counter, 1);\n}\n"
      "void solve(const __half* x, __half* y, int n) {\n  float h[5] = {1, 2, 3, 4, 5};\n"
      "  cudaMemcpyToSymbol(taps, h, sizeof(h));\n  k<64><<<1, 64>>>(x, y);\n}\n",
      "struct Plus {\n  __host__ __device__ float operator()(float a, float b) const { return a + b; }\n};\n"
      "template <class F> __global__ void k(float* y, F f) { y[threadIdx.x] = f(y[threadIdx.x], 1); }\n"
      "void solve(float* y) {\n  k<<<1, 32>>>(y, Plus());\n"
      "  auto f = [] __device__(float a, float b) { return a * b; };\n  k<<<1, 32>>>(y, f);\n}\n",
      "static const int kWidth = 16;\nconst float kScale = 0.5f;\nenum { kDepth = 3 };\n"
      "__global__ void k(float* y) {\n  extern __shared__ float s[];\n  s[threadIdx.x] = kScale * kWidth + "
      "kDepth;\n"
      "  float4 v = make_float4(1, 2, 3, 4);\n  __syncthreads();\n  y[threadIdx.x] = s[0] + v.x;\n}\n"
      "void solve(float* y) { k<<<1, 32, 32 * sizeof(float)>>>(y); }\n",
  };
  for (const char* source : right) {
    CAPTURE(source);
    for (const Finding& finding : pass(source)) FAIL_CHECK(finding.line << ": " << finding.message);
  }
}

TEST_CASE("most sources are known to be right without the front end, by their words", "[cudacpu]") {
  const std::string begin = R"(
#include <cuda_runtime.h>
#define BLOCK 256
#define CHECK(call) do { if ((call) != cudaSuccess) { fprintf(stderr, "failed"); exit(1); } } while (0)
constexpr int kTile = 16;
const float kScale = 2.0f;
__constant__ float weights[4] = {1, 2, 3, 4};
struct Pair { float value; int index; };
template <typename T, int N = 4>
__device__ __forceinline__ T twice(T x) { return x + x; }
__host__ __device__ inline int up(int a, int b) { return (a + b - 1) / b; }
template <typename T>
__global__ void __launch_bounds__(BLOCK, 2) k(const T* x, T* y, int n) {
  __shared__ float tile[kTile][kTile + 1];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < up(n, 1)) y[i] = twice(x[i]) * kScale * weights[i % 4];
}
)";
  const std::string solve = "extern \"C\" void solve(const float* x, float* y, int n) {\n";
  const std::string run = "  k<float><<<up(n, BLOCK), BLOCK>>>(x, y, n);\n  CHECK(cudaGetLastError());\n}\n";
  CHECK_FALSE(needs_front_end(begin + solve + run));
  for (const char* more :
       {"float host(float x) { return x; }\n__device__ float f(float x) { return host(x); }\n",
        "float host(float x) { return x; }\n#define F(x) host(x)\n__device__ float f(float x) { return F(x); "
        "}\n",
        "float table[4];\n__device__ float f(int i) { return table[i]; }\n",
        "static int calls = 0, more = 0;\n__device__ float f(int i) { return more; }\n",
        "const float* p;\n__device__ float f(int i) { return p[i]; }\n",
        "__device__ float f(float x) { return x; }\nfloat host() { return f(1); }\n",
        "__global__ int g(int* x) { return 1; }\n", "void host() { __shared__ int x[4]; }\n",
        "struct S { S() {} int x; };\n__device__ int f() { return S().x; }\n",
        "struct S { int x; int get() { return x; } };\n__device__ int f(S s) { return s.get(); }\n",
        "__device__ void f() { std::vector<int> v; }\n", "__device__ void f() { printf(\"\"); rand(); }\n",
        "int start();\n__device__ int first = start();\n", "void host() { k<float>(nullptr, nullptr, 1); }\n",
        "float host(float x) { return x; }\ntemplate <float (*F)(float)> __global__ void g(float* y) { *y = "
        "F(1); }\n"
        "void run(float* y) { g<host><<<1, 1>>>(y); }\n"}) {
    INFO(more);
    CHECK(needs_front_end(begin + more + solve + run));
  }
}

TEST_CASE("headers that few candidates need are for those alone", "[cudacpu]") {
  for (const char* source : {"__global__ void k() {}", "#include <cmath>\n#include <cuda_fp16.h>\nint x;",
                             "float f(float a) { return std::max(a, std::sqrt(a)); }",
                             "#include <vector>\n#include <cub/cub.cuh>\nstd::vector<int> v;"})
    CHECK_FALSE(needs_all_headers(source));
  for (const char* source :
       {"#include <iostream>\n", "#include <thrust/sort.h>\n", "#include <vector>\nstd::string s;",
        "std::vector<int> v;", "using namespace std;", "namespace s = std;",
        "auto t = std::chrono::steady_clock::now();"})
    CHECK(needs_all_headers(source));
}
