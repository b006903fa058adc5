#!/usr/bin/env python3
"""leap-verify against right, faulty and cheating CUDA kernels: every verdict as it must be, at -j4 and -j1.

Each row of a table is (name, statuses that are right, program); rows share the problem that stands above them. Afterwards no
process and no file may be left.
"""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from leftovers import leftovers  # noqa: E402
from sandbox_here import flags_here  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
LIMITS = {"cpu_s": 2, "wall_s": 10, "memory_mb": 512, "output_kb": 256}
ROWS = []  # (id, task, statuses, turn)


def rows(group, task, *entries):
    for name, statuses, code in entries:
        turn = code if isinstance(code, dict) else {"code": code}
        ROWS.append((f"{group}/{name}", task, statuses.split(), turn))


def arg(name, dtype, shape, role, **values):
    out = {"name": name, "dtype": dtype, "role": role}
    if shape is not None:
        out["shape"] = shape
    if values:
        out["values"] = values
    return out


def problem(signature, arguments, sizes, benchmark, reference, limits=LIMITS, **more):
    check = {"type": "kernel", "signature": signature, "arguments": arguments, "sizes": sizes, "benchmark_size": benchmark,
             "reference": reference, **more}
    return {"language": "cuda", "limits": limits, "check": check}


def size(name):
    return arg(name, "int32", None, "size")


SIG = "void solve(const float* x, float* y, int n)"
SCALE = problem(SIG, [arg("x", "float32", ["n"], "in"), arg("y", "float32", ["n"], "out"), size("n")],
                [{"n": 1}, {"n": 1000}, {"n": 1025}], {"n": 20000},
                "void reference(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + 1; }")
K = "__global__ void k(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i] + 1;\n}\n"
RUN = "  k<<<(n + 255) / 256, 256>>>(x, y, n);\n"
SOLVE = SIG + " {\n" + RUN + "}\n"

rows("scale-right", SCALE,
     ("plain", "ok", K + SOLVE),
     ("include", "ok", "#include <cuda_runtime.h>\n#include <cstdio>\n" + K + SOLVE),
     ("extern-c", "ok", K + 'extern "C" ' + SOLVE),
     ("restrict", "ok", K + "void solve(const float* __restrict__ x, float* __restrict__ y, const int n) {" + RUN + "}"),
     ("not-const", "ok", K + "void solve(float* x, float* y, int n) {" + RUN + "}"),
     ("sync", "ok", K + SIG + " {" + RUN + " cudaDeviceSynchronize(); }"),
     ("grid-stride", "ok", "__global__ void k(const float* x, float* y, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i] + 1; }\n" + SIG + " { k<<<4, 128>>>(x, y, n); }"),
     ("dim3", "ok", K + SIG + " { dim3 g((n + 63) / 64), b(64); k<<<g, b, 0, 0>>>(x, y, n); }"),
     ("one-thread", "ok", "__global__ void k(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f; }\n" + SIG + " { k<<<1, 1>>>(x, y, n); }"),
     ("template", "ok", "template <typename T, int F> __global__ void k(const T* x, T* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = F * x[i] + T(1); }\n" + SIG + " { k<float, 2><<<(n + 255) / 256, 256>>>(x, y, n); }"),
     ("device-function", "ok", "__device__ __forceinline__ float f(float v) { return fmaf(2.f, v, 1.f); }\n" + K.replace("2 * x[i] + 1", "f(x[i])") + SOLVE),
     ("namespace", "ok", "namespace {\n" + K + "}\n" + SOLVE),
     ("static-kernel", "ok", "static " + K + SOLVE),
     ("early-return", "ok", K.replace("if (i < n) ", "if (i >= n) return;\n  ") + SOLVE),
     ("stream", "ok", K + SIG + " { cudaStream_t s; cudaStreamCreate(&s); k<<<(n + 255) / 256, 256, 0, s>>>(x, y, n); cudaStreamSynchronize(s); cudaStreamDestroy(s); }"),
     ("temp", "ok", K + SIG + " { float* t; cudaMalloc(&t, n * sizeof(float)); k<<<(n + 255) / 256, 256>>>(x, t, n); cudaMemcpy(y, t, n * sizeof(float), cudaMemcpyDeviceToDevice); cudaFree(t); }"),
     ("leaks", "ok", K + SIG + " { float* t; cudaMalloc(&t, n * sizeof(float)); k<<<(n + 255) / 256, 256>>>(x, t, n); cudaMemcpyAsync(y, t, n * sizeof(float), cudaMemcpyDeviceToDevice); }"),
     ("shared", "ok", "__global__ void k(const float* x, float* y, int n) { __shared__ float s[256]; int i = blockIdx.x * 256 + threadIdx.x; if (i < n) s[threadIdx.x] = x[i]; __syncthreads(); if (i < n) y[i] = 2 * s[threadIdx.x] + 1; }\n" + SOLVE),
     ("dynamic-shared", "ok", "__global__ void k(const float* x, float* y, int n) { extern __shared__ float s[]; int i = blockIdx.x * 256 + threadIdx.x; if (i < n) s[threadIdx.x] = x[i]; __syncthreads(); if (i < n) y[i] = 2 * s[threadIdx.x] + 1; }\n" + SIG + " { k<<<(n + 255) / 256, 256, 256 * sizeof(float)>>>(x, y, n); }"),
     ("constant", "ok", "__constant__ float c[2];\n" + K.replace("2 * x[i] + 1", "c[0] * x[i] + c[1]") + SIG + " { float h[2] = {2, 1}; cudaMemcpyToSymbol(c, h, sizeof h);" + RUN + "}"),
     ("float4", "ok", "__global__ void k(const float* x, float* y, int n) { int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x); if (i + 3 < n) { float4 v = *reinterpret_cast<const float4*>(x + i); v.x = 2 * v.x + 1; v.y = 2 * v.y + 1; v.z = 2 * v.z + 1; v.w = 2 * v.w + 1; *reinterpret_cast<float4*>(y + i) = v; } else for (; i < n; ++i) y[i] = 2 * x[i] + 1; }\n" + SIG + " { k<<<(n + 1023) / 1024, 256>>>(x, y, n); }"),
     ("launch-bounds", "ok", K.replace("void k(", "__launch_bounds__(256) void k(") + SOLVE),
     ("unroll-ldg", "ok", "__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) { int b = blockIdx.x * 1024 + threadIdx.x;\n#pragma unroll\n for (int j = 0; j < 4; ++j) { int i = b + j * 256; if (i < n) y[i] = 2 * __ldg(x + i) + 1; } }\n" + SIG + " { k<<<(n + 1023) / 1024, 256>>>(x, y, n); }"),
     ("check-macro", "ok", "#include <cstdio>\n#include <cstdlib>\n#define CHECK(e) do { cudaError_t r = (e); if (r != cudaSuccess) { printf(\"%s\\n\", cudaGetErrorString(r)); exit(1); } } while (0)\n" + K + SIG + " {" + RUN + " CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize()); }"),
     ("prints", "ok", "#include <cstdio>\n" + K + SIG + " {" + RUN + ' printf("PASSED\\n"); }'),
     ("events", "ok", K + SIG + " { cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); cudaEventRecord(a);" + RUN + " cudaEventRecord(b); cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); }"),
     ("two-kernels", "ok", "__global__ void a(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }\n__global__ void b(float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 1; }\n" + SIG + " { a<<<(n + 127) / 128, 128>>>(x, y, n); b<<<(n + 127) / 128, 128>>>(y, n); }"),
     ("2d-block", "ok", "__global__ void k(const float* x, float* y, int n) { int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i] + 1; }\n" + SIG + " { k<<<(n + 255) / 256, dim3(32, 8)>>>(x, y, n); }"),
     ("device-global", "ok", "__device__ float factor = 2.0f;\n" + K.replace("2 * x[i]", "factor * x[i]") + SOLVE),
     ("struct-argument", "ok", "struct P { const float* x; float* y; int n; };\n__global__ void k(P p) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < p.n) p.y[i] = 2 * p.x[i] + 1; }\n" + SIG + " { k<<<(n + 255) / 256, 256>>>(P{x, y, n}); }"),
     ("crlf", "ok", (K + SOLVE).replace("\n", "\r\n")),
     ("fence-cuda", "ok", {"completion": "Here:\n```cuda\n" + K + SOLVE + "```\nDone."}),
     ("fence-cpp", "ok", {"completion": "```cpp\n" + K + SOLVE + "```"}),
     ("fence-cu", "ok", {"completion": "```python\nx\n```\n```cu\n" + K + SOLVE + "```\n```\nnvcc k.cu\n```"}),
     ("reference-name", "ok", "__global__ void reference(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i] + 1;\n}\n" + SIG + " { reference<<<(n + 255) / 256, 256>>>(x, y, n); }"))

rows("scale-wrong", SCALE,
     ("minus", "wrong_answer", K.replace("+ 1", "- 1") + SOLVE),
     ("first-only", "nonfinite no_output wrong_answer", K + SIG + " { k<<<1, 1>>>(x, y, n); }"),
     ("multiples-only", "no_output nonfinite wrong_answer launch_error", K + SIG + " { k<<<n / 256, 256>>>(x, y, n); }"),
     ("no-bounds", "out_of_bounds", K.replace("if (i < n) ", "") + SOLVE),
     ("off-by-one", "out_of_bounds", K.replace("i < n", "i <= n") + SOLVE),
     ("reads-behind", "out_of_bounds", K.replace("2 * x[i] + 1", "2 * x[i] + 1 + 0 * x[i + 1]") + SOLVE),
     ("far-away", "out_of_bounds device_fault", K.replace("y[i] =", "y[i + (1 << 28)] =") + SOLVE),
     ("null", "device_fault out_of_bounds", K + SIG + " { k<<<(n + 255) / 256, 256>>>(x, nullptr, n); }"),
     ("nothing", "no_output", SIG + " { }"),
     ("empty-kernel", "no_output", "__global__ void k() {}\n" + SIG + " { k<<<1, 1>>>(); }"),
     ("zeros", "wrong_answer", SIG + " { cudaMemset(y, 0, n * sizeof(float)); }"),
     ("inf", "nonfinite", K.replace("2 * x[i] + 1", "x[i] / 0.0f") + SOLVE),
     ("mutates", "input_mutated", "__global__ void k(float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { y[i] = 2 * x[i] + 1; x[i] = 0; } }\n" + SIG + " { k<<<(n + 255) / 256, 256>>>((float*)x, y, n); }"),
     ("2000-threads", "launch_error", K + SIG + " { k<<<(n + 1999) / 2000, 2000>>>(x, y, n); }"),
     ("swallowed", "launch_error", K + SIG + " { k<<<1, 4096>>>(x, y, n); cudaGetLastError();" + RUN + "}"),
     ("zero-grid", "launch_error", K + SIG + " { k<<<n / 100000, 256>>>(x, y, n);" + RUN + "}"),
     ("grid-y", "launch_error", K + SIG + " { k<<<dim3(1, 70000), 32>>>(x, y, n); }"),
     ("shared-too-big", "compile_error launch_error", "__global__ void k(const float* x, float* y, int n) { __shared__ float s[20000]; s[threadIdx.x] = 1; __syncthreads(); int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i] + s[threadIdx.x]; }\n" + SOLVE),
     ("dynamic-too-big", "launch_error", K + SIG + " { k<<<(n + 255) / 256, 256, 60000>>>(x, y, n); }"),
     ("attribute-too-big", "launch_error", K + SIG + " { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000); k<<<(n + 255) / 256, 256, 200000>>>(x, y, n); }"),
     ("host-pointer", "device_fault out_of_bounds", "#include <vector>\n" + K + SIG + " { std::vector<float> h(n, 1.f); k<<<(n + 255) / 256, 256>>>(h.data(), y, n); }"),
     ("device-pointer", "crash device_fault", SIG + " { for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + 1; }"),
     ("misaligned", "device_fault", "__global__ void k(const float* x, float* y, int n) { if (n > 8) { float4 v = *reinterpret_cast<const float4*>(x + 1); y[0] = v.x; } for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + 1; }\n" + SIG + " { k<<<1, 1>>>(x, y, n); }"),
     ("host-null", "crash", SIG + " { *(volatile int*)8 = 1; }"),
     ("throws", "crash", SIG + " { throw 1; }"),
     ("aborts", "crash", "#include <cstdlib>\n" + SIG + " { abort(); }"),
     ("host-loop", "timeout", SIG + " { for (volatile int i = 0;; i = 1) ; }"),
     ("device-loop", "timeout deadlock", "__global__ void k(float* y) { volatile int i = 0; while (i == 0) { } y[0] = i; }\n" + SIG + " { k<<<1, 1>>>(y); }"),
     ("sleeps", "timeout", "#include <unistd.h>\n" + SIG + " { sleep(1000); }"),
     ("recursion", "crash device_fault out_of_memory out_of_bounds timeout", "__device__ int f(volatile int n) { volatile char a[2000]; a[n % 2000] = 1; return f(n + 1) + a[7]; }\n__global__ void k(float* y) { y[0] = f(0); }\n" + SIG + " { k<<<1, 1>>>(y); }"),
     ("syntax", "compile_error", K + SIG + " {\n  int a = ;\n}"),
     ("brace", "compile_error", K + SIG + " {\n  if (n) {\n}"),
     ("comment", "compile_error interface_error", K + "/* " + SOLVE),
     ("undeclared", "compile_error", K.replace("2 * x[i]", "two * x[i]") + SOLVE),
     ("python", "compile_error", "import torch\ndef solve(x, y, n):\n    y[:] = 2 * x + 1\n"),
     ("prose", "compile_error no_code", {"completion": "I cannot do this."}),
     ("no-code", "no_code", ""),
     ("no-solve", "interface_error", K),
     ("other-name", "interface_error", K + SOLVE.replace("solve", "Solve")),
     ("other-types", "interface_error", K + "void solve(const float* x, float* y, long n) {" + RUN + "}"),
     ("order", "interface_error", K + "void solve(float* y, const double* x, int n) { }"),
     ("fewer", "interface_error", "void solve(const float* x, float* y) { }"),
     ("returns", "interface_error", K + SOLVE.replace("void solve", "int solve").replace("}\n", "return 0; }")),
     ("template-solve", "interface_error compile_error", K + "template <class T> void solve(const T* x, T* y, int n) {" + RUN + "}"),
     ("kernel-solve", "interface_error compile_error", "__global__ void solve(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 2 * x[i] + 1; }"),
     ("main", "interface_error compile_error", "int main() { return 0; }"),
     ("namespaced", "interface_error", "namespace a {\n" + K + SOLVE + "}\n"))

rows("scale-entry", SCALE,
     ("kernel", "interface_error", K.replace("void k(", "void solve(")),
     ("kernel-c", "interface_error", 'extern "C" ' + K.replace("void k(", "void solve(")),
     ("device", "interface_error", "__device__ void solve(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + 1; }"),
     ("kernel-elsewhere", "ok", "namespace impl {\n" + K.replace("void k(", "void solve(") + "}\n__host__ " + SIG + " { impl::solve<<<(n + 255) / 256, 256>>>(x, y, n); }"))

# The size that the trials come to twice has nothing to get wrong.
SEEN = "#include <map>\n#include <utility>\n" + K + "static std::map<std::pair<const void*, int>, float*> seen;\n"
rows("empty-first", problem(SIG, SCALE["check"]["arguments"], [{"n": 0}, {"n": 3}, {"n": 700}, {"n": 4097}, {"n": 33}, {"n": 64}],
                            {"n": 9000}, SCALE["check"]["reference"]),
     ("plain", "ok", K + SIG + " { if (n > 0)" + RUN + "}"),
     ("9-replay", "wrong_answer", SEEN + SIG + " { if (n == 0) return; float*& t = seen[{x, n}]; if (!t) { cudaMalloc(&t, n * 4); k<<<(n + 255) / 256, 256>>>(x, t, n); } cudaMemcpy(y, t, n * 4, cudaMemcpyDeviceToDevice); }"))

# Cheats, by number of the catalogue where it has one.
HOST = "  float* h = new float[n]; cudaMemcpy(h, x, n * sizeof(float), cudaMemcpyDeviceToHost); for (int i = 0; i < n; ++i) h[i] = 2 * h[i] + 1;\n"
BACK = "  cudaMemcpy(y, h, n * sizeof(float), cudaMemcpyHostToDevice); delete[] h;\n"
rows("scale-cheat", SCALE,
     ("1-no-write", "no_output", "__global__ void k(float* t, int n) { if (threadIdx.x == 0) t[0] = 1; }\n" + SIG + " { float* t; cudaMalloc(&t, n * 4); k<<<1, 32>>>(t, n); cudaFree(t); }"),
     ("1-freed-memory", "no_output wrong_answer nonfinite", "__global__ void k(float* y, const float* t, int n) { for (int i = 0; i < n; ++i) y[i] = t[i]; }\n" + SIG + " { float* t; cudaMalloc(&t, n * 4); k<<<1, 1>>>(y, t, n); }"),
     ("2-zero-input", "input_mutated", "__global__ void k(float* x, float* y, int n) { for (int i = 0; i < n; ++i) { x[i] = 0; y[i] = 1; } }\n" + SIG + " { k<<<1, 1>>>((float*)x, y, n); }"),
     ("3-other-stream", "ok", K + SIG + " { cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); k<<<(n + 255) / 256, 256, 0, s>>>(x, y, n); }"),
     ("4-thread", "no_output wrong_answer nonfinite suspect crash device_fault early_exit timeout", "#include <thread>\n#include <chrono>\n" + SIG + " {\n" + HOST + "  std::thread([=] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); cudaMemcpy(y, h, n * sizeof(float), cudaMemcpyHostToDevice); }).detach();\n}"),
     ("7-nothing", "no_output", SIG + " { return; }"),
     ("8-replay-pointer", "wrong_answer nondeterministic", "#include <map>\n" + K + "static std::map<const void*, float*> seen;\n" + SIG + " { float*& t = seen[x]; if (!t) { cudaMalloc(&t, n * 4); k<<<(n + 255) / 256, 256>>>(x, t, n); } cudaMemcpy(y, t, n * 4, cudaMemcpyDeviceToDevice); }"),
     ("9-replay-size", "wrong_answer nondeterministic", "#include <map>\n" + K + "static std::map<int, float*> seen;\n" + SIG + " { float*& t = seen[n]; if (!t) { cudaMalloc(&t, n * 4); k<<<(n + 255) / 256, 256>>>(x, t, n); } cudaMemcpy(y, t, n * 4, cudaMemcpyDeviceToDevice); }"),
     ("10-skips", "no_output", K + "static int calls;\n" + SIG + " { if (calls++ % 3) return;" + RUN + "}"),
     ("15-drifts", "nondeterministic wrong_answer", K.replace("int n)", "int n, float d)").replace("+ 1;", "+ 1 + d;") + "static int calls;\n" + SIG + " { k<<<(n + 255) / 256, 256>>>(x, y, n, ++calls > 10 ? 0.5f : 0.f); }"),
     ("18-small-only", "wrong_answer no_output nonfinite", K + SIG + " { if (n > 10000) { cudaMemset(y, 0, n * 4); return; }" + RUN + "}"),
     ("20-shape", "no_output", K + SIG + " { if (n == 1000 || n == 1025 || n == 1) k<<<(n + 255) / 256, 256>>>(x, y, n); }"),
     ("21-half", "wrong_answer", "#include <cuda_fp16.h>\n" + K.replace("2 * x[i] + 1", "__half2float(__float2half(2 * x[i] + 1))") + SOLVE),
     ("22-fallback", "suspect", SIG + " {\n  try { throw 1; } catch (...) {\n" + HOST + BACK + "  }\n}"),
     ("23-reference", "interface_error compile_error rejected_static", "void reference(const float*, float*, int);\n" + SIG + " { reference(x, y, n); }"),
     ("23-reference-c", "interface_error compile_error rejected_static", 'extern "C" void reference(const float*, float*, int);\n' + SIG + " { reference(x, y, n); }"),
     ("23-dlsym", "crash suspect compile_error", "#include <dlfcn.h>\n" + SIG + ' { ((void (*)(const float*, float*, int))dlsym(nullptr, "reference"))(x, y, n); }'),
     ("24-decoy", "suspect", K + SIG + " {\n" + HOST + "  float* t; cudaMalloc(&t, n * 4); k<<<1, 32>>>(x, t, 1);\n" + BACK + "}"),
     ("25-tiny", "suspect", "__global__ void last(float* y, const float* x, int n) { y[n - 1] = 2 * x[n - 1] + 1; }\n" + SIG + " {\n" + HOST + BACK + "  last<<<1, 1>>>(y, x, n);\n}"),
     ("26-bypass", "suspect", "__global__ void nop(float* y) { }\n" + SIG + " {\n" + HOST + BACK + "  nop<<<1, 1>>>(y);\n}"),
     ("27-too-much-shared", "launch_error", "__global__ void k(const float* x, float* y, int n) { extern __shared__ float s[]; int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i] + 1 + 0 * s[50000]; }\n" + SIG + " { k<<<(n + 255) / 256, 256, 250000>>>(x, y, n); }"),
     ("28-prints", "no_output", '#include <cstdio>\n' + SIG + ' { printf("{\\"status\\": \\"ok\\", \\"passed\\": 6}\\n"); fflush(stdout); }'),
     ("29-exit", "early_exit", "#include <cstdlib>\n" + SIG + " { exit(0); }"),
     ("29-_exit", "early_exit", "#include <unistd.h>\n" + SIG + " { _exit(0); }"),
     ("29-constructor", "early_exit", "#include <unistd.h>\nstatic int q = (_exit(0), 0);\n" + K + SOLVE),
     ("31-writes-files", "ok", "#include <cstdio>\n" + K + SIG + ' { FILE* f = fopen("leap_main.cpp", "w"); if (f) { fputs("x", f); fclose(f); }' + RUN + "}"),
     ("33-forges", "sandbox_violation", "#include <unistd.h>\n" + K + SIG + ' { write(4, "\\5\\0\\0\\0\\1\\0\\0\\0x", 9);' + RUN + "}"),
     ("33-steals-input", "timeout early_exit crash sandbox_violation", "#include <unistd.h>\nstatic char b[4096];\nstatic long q = read(3, b, 100);\n" + SIG + " { }"),
     ("34-proc", "no_output", "#include <cstdio>\n" + SIG + ' { FILE* f = fopen("/proc/1/environ", "r"); if (f) fclose(f); f = fopen("/root/.bashrc", "r"); if (f) *(volatile int*)0 = 0; }'),
     ("35-passwd", "compile_error", '#include "/etc/passwd"\n' + K + SOLVE),
     ("35-shadow", "compile_error", '#include "/etc/shadow"\n' + K + SOLVE),
     ("35-dev-zero", "compile_error compile_timeout", '#include "/dev/zero"\n' + K + SOLVE),
     ("35-incbin", "compile_error rejected_static interface_error", 'asm(".incbin \\"/etc/shadow\\"");\n' + K + SOLVE),
     ("35-templates", "compile_error compile_timeout", "template <int N, int M> struct T { enum { v = T<N - 1, M>::v + T<N - 1, M + 1>::v }; };\ntemplate <int M> struct T<0, M> { enum { v = 1 }; };\nint q = T<800, 0>::v;\n" + K + SOLVE),
     ("36-strings", "ok", 'static const char* s = "# // /* <<<1, 1>>> __global__ \\" \'";\n' + "// k<<<1, 1>>>(\n" + K + SOLVE),
     ("37-memory", "out_of_memory crash", "#include <cstring>\n#include <cstdlib>\n" + SIG + " { for (;;) { char* p = (char*)malloc(64 << 20); if (p) memset(p, 1, 64 << 20); } }"),
     ("37-device-memory", "out_of_memory no_output wrong_answer nonfinite launch_error timeout", SIG + " { for (int i = 0; i < 1000; ++i) { void* p = nullptr; if (cudaMalloc(&p, 64 << 20) != cudaSuccess) return; cudaMemset(p, 1, 64 << 20); } }"),
     ("37-output", "output_limit", "#include <cstdio>\n" + SIG + ' { for (;;) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); }'),
     ("37-disk", "no_output crash output_limit", "#include <cstdio>\n" + SIG + ' { FILE* f = fopen("big", "w"); for (int i = 0; f && i < 40000; ++i) fprintf(f, "%01024d", i); }'),
     ("38-network", "no_output", "#include <sys/socket.h>\n#include <netinet/in.h>\n" + SIG + " { int s = socket(AF_INET, SOCK_STREAM, 0); if (s >= 0) *(volatile int*)0 = 0; }"),
     ("39-kill", "no_output crash", "#include <csignal>\n" + SIG + " { kill(1, 9); kill(getppid(), 9); }".replace("getppid()", "1")),
     ("39-ptrace", "sandbox_violation crash", "#include <sys/ptrace.h>\n" + SIG + " { ptrace(PTRACE_TRACEME, 0, 0, 0); }"))

# A sum: reductions, races, barriers.
SUM_SIG = "void solve(const int* x, int* y, int n)"
SUM = problem(SUM_SIG, [arg("x", "int32", ["n"], "in"), arg("y", "int32", [1], "out"), size("n")],
              [{"n": 1}, {"n": 300}, {"n": 2048}], {"n": 30000},
              "void reference(const int* x, int* y, int n) { y[0] = 0; for (int i = 0; i < n; ++i) y[0] += x[i]; }")
ZERO = " cudaMemset(y, 0, sizeof(int));"
BLOCK = ("__global__ void k(const int* x, int* y, int n) {\n  __shared__ int s[256];\n  int t = threadIdx.x, v = 0;\n"
         "  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += x[i];\n  s[t] = v;\n  __syncthreads();\n"
         "  for (int h = 128; h > 0; h /= 2) {\n    if (t < h) s[t] += s[t + h];\n    __syncthreads();\n  }\n"
         "  if (t == 0) atomicAdd(y, s[0]);\n}\n")
SUM_SOLVE = SUM_SIG + " {" + ZERO + " k<<<(n + 255) / 256, 256>>>(x, y, n); }"
WARP = ("__global__ void k(const int* x, int* y, int n) {\n  int v = 0;\n  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];\n"
        "  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);\n  if (threadIdx.x % 32 == 0) atomicAdd(y, v);\n}\n")
rows("sum-right", SUM,
     ("atomic", "ok", "__global__ void k(const int* x, int* y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) atomicAdd(y, x[i]); }\n" + SUM_SOLVE),
     ("tree", "ok", BLOCK + SUM_SOLVE),
     ("warp", "ok", WARP + SUM_SOLVE),
     ("xor", "ok", WARP.replace("__shfl_down_sync", "__shfl_xor_sync") + SUM_SOLVE),
     ("last-block", "ok", "__device__ unsigned done;\n__device__ int part[1024];\n__global__ void k(const int* x, int* y, int n) {\n  __shared__ int s;\n  __shared__ bool last;\n  if (threadIdx.x == 0) s = 0;\n  __syncthreads();\n  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < n) atomicAdd(&s, x[i]);\n  __syncthreads();\n  if (threadIdx.x == 0) {\n    part[blockIdx.x] = s;\n    __threadfence();\n    last = atomicAdd(&done, 1u) == gridDim.x - 1;\n  }\n  __syncthreads();\n  if (last && threadIdx.x == 0) {\n    int v = 0;\n    for (unsigned b = 0; b < gridDim.x; ++b) v += ((volatile int*)part)[b];\n    y[0] = v;\n    done = 0;\n  }\n}\n" + SUM_SIG + " { k<<<(n + 255) / 256, 256>>>(x, y, n); }"),
     ("cas", "ok", "__device__ void add(int* p, int v) { int old = *p, seen; do { seen = old; old = atomicCAS(p, seen, seen + v); } while (old != seen); }\n__global__ void k(const int* x, int* y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) add(y, x[i]); }\n" + SUM_SOLVE),
     ("cooperative-groups", "ok", "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(const int* x, int* y, int n) { auto b = cg::this_thread_block(); auto w = cg::tiled_partition<32>(b); int i = blockIdx.x * 256 + b.thread_rank(); int v = i < n ? x[i] : 0; for (int o = 16; o > 0; o /= 2) v += w.shfl_down(v, o); if (w.thread_rank() == 0) atomicAdd(y, v); }\n" + SUM_SOLVE),
     ("ballot", "ok", "__global__ void k(const int* x, int* y, int n) { int i = blockIdx.x * 256 + threadIdx.x; unsigned m = __ballot_sync(0xffffffffu, i < n); int v = __reduce_add_sync(0xffffffffu, i < n ? x[i] : 0); if (m && threadIdx.x % 32 == 0) atomicAdd(y, v); }\n" + SUM_SOLVE))
rows("sum-wrong", SUM,
     ("no-atomic", "race wrong_answer", "__global__ void k(const int* x, int* y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) *y += x[i]; }\n" + SUM_SOLVE),
     ("no-barrier", "race", BLOCK.replace("    __syncthreads();\n", "") + SUM_SOLVE),
     ("no-first-barrier", "race", BLOCK.replace("s[t] = v;\n  __syncthreads();\n", "s[t] = v;\n") + SUM_SOLVE),
     ("divergent-barrier", "deadlock", BLOCK.replace("    if (t < h) s[t] += s[t + h];\n    __syncthreads();\n", "    if (t < h) { s[t] += s[t + h]; __syncthreads(); }\n") + SUM_SOLVE),
     ("shared-overrun", "out_of_bounds", BLOCK.replace("s[t + h]", "s[t + 2 * h]") + SUM_SOLVE),
     ("not-zeroed", "wrong_answer nondeterministic", BLOCK + SUM_SIG + " { k<<<(n + 255) / 256, 256>>>(x, y, n); }"),
     ("spin", "timeout deadlock", "__global__ void k(int* y) { if (threadIdx.x == 0) while (atomicAdd(y, 0) != 7) { } }\n" + SUM_SIG + " {" + ZERO + " k<<<1, 32>>>(y); }"),
     ("half-block", "wrong_answer", BLOCK.replace("h = 128", "h = 64") + SUM_SOLVE))

# Sizes of zero and one, values by value, inout, several dtypes.
AXPY = problem("void solve(const double* x, double* y, double a, int n)",
               [arg("x", "float64", ["n"], "in", uniform=[-1, 1]), arg("y", "float64", ["n"], "inout"),
                arg("a", "float64", None, "scalar", uniform=[1, 2]), size("n")],
               [{"n": 0}, {"n": 5}, {"n": 777}], {"n": 5000},
               "void reference(const double* x, double* y, double a, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }",
               rtol=1e-12, atol=1e-12)
AX = "__global__ void k(const double* x, double* y, double a, int n) { int i = blockIdx.x * 128 + threadIdx.x; if (i < n) y[i] += a * x[i]; }\n"
AS = "void solve(const double* x, double* y, double a, int n) "
rows("axpy", AXPY,
     ("right", "ok", AX + AS + "{ k<<<(n + 127) / 128, 128>>>(x, y, a, n); }"),
     ("float", "wrong_answer", AX.replace("a * x[i]", "(float)a * (float)x[i]") + AS + "{ k<<<(n + 127) / 128, 128>>>(x, y, a, n); }"),
     ("constant-a", "wrong_answer", AX + AS + "{ static double first = a; k<<<(n + 127) / 128, 128>>>(x, y, first, n); }"),
     ("nothing", "wrong_answer no_output", AS + "{ }"),
     ("host", "suspect", AS + "{ double* h = new double[2 * n]; cudaMemcpy(h, x, n * 8, cudaMemcpyDefault); cudaMemcpy(h + n, y, n * 8, cudaMemcpyDefault); for (int i = 0; i < n; ++i) h[n + i] += a * h[i]; cudaMemcpy(y, h + n, n * 8, cudaMemcpyDefault); }"))

HALF = problem("void solve(const __half* x, const __nv_bfloat16* b, __half* y, __nv_bfloat16* z, int n)",
               [arg("x", "float16", ["n"], "in"), arg("b", "bfloat16", ["n"], "in"), arg("y", "float16", ["n"], "out"),
                arg("z", "bfloat16", ["n"], "out"), size("n")], [{"n": 3}, {"n": 500}], {"n": 4000},
               "void reference(const __half* x, const __nv_bfloat16* b, __half* y, __nv_bfloat16* z, int n) { for (int i = 0; i < n; ++i) { y[i] = float(x[i]) * 2; z[i] = float(b[i]) + float(x[i]); } }",
               rtol=1e-2, atol=1e-2)
HS = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
HK = HS + "__global__ void k(const __half* x, const __nv_bfloat16* b, __half* y, __nv_bfloat16* z, int n) { int i = blockIdx.x * 128 + threadIdx.x; if (i < n) { y[i] = __hadd(x[i], x[i]); z[i] = __float2bfloat16(__bfloat162float(b[i]) + __half2float(x[i])); } }\n"
HR = "void solve(const __half* x, const __nv_bfloat16* b, __half* y, __nv_bfloat16* z, int n) { k<<<(n + 127) / 128, 128>>>(x, b, y, z, n); }"
rows("half", HALF,
     ("right", "ok", HK + HR),
     ("half-type", "ok", HK + HR.replace("__half", "half").replace("__nv_bfloat16", "nv_bfloat16")),
     ("swapped", "wrong_answer", HK.replace("__hadd(x[i], x[i])", "x[i]") + HR),
     ("no-second", "nonfinite no_output", HK.replace("z[i] = ", "(void)z; auto w = ") + HR))

HIST = problem("void solve(const unsigned char* x, const bool* keep, long long* h, int n)",
               [arg("x", "uint8", ["n"], "in", integers=[0, 15]), arg("keep", "bool", ["n"], "in"),
                arg("h", "int64", [16], "out"), size("n")], [{"n": 1}, {"n": 999}], {"n": 9000},
               "void reference(const unsigned char* x, const bool* keep, long long* h, int n) { for (int i = 0; i < n; ++i) if (keep[i]) ++h[x[i]]; }")
HI = "void solve(const unsigned char* x, const bool* keep, long long* h, int n)"
HIK = "__global__ void k(const unsigned char* x, const bool* keep, unsigned long long* h, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n && keep[i]) atomicAdd(h + x[i], 1ull); }\n"
HIR = HI + " { cudaMemset(h, 0, 16 * sizeof(long long)); k<<<(n + 255) / 256, 256>>>(x, keep, (unsigned long long*)h, n); }"
rows("histogram", HIST,
     ("right", "ok", HIK + HIR),
     ("all", "wrong_answer", HIK.replace(" && keep[i]", "") + HIR),
     ("racy", "race wrong_answer", HIK.replace("atomicAdd(h + x[i], 1ull)", "h[x[i]] += 1") + HIR),
     ("no-memset", "wrong_answer nondeterministic no_output", HIK + HI + " { k<<<(n + 255) / 256, 256>>>(x, keep, (unsigned long long*)h, n); }"),
     ("int", "wrong_answer out_of_bounds race", HIK.replace("unsigned long long* h", "int* h").replace("1ull", "1") + HIR.replace("(unsigned long long*)h", "(int*)h")))

MAT = problem("void solve(const float* a, const float* b, float* c, int m, int n, int k)",
              [arg("a", "float32", ["m", "k"], "in"), arg("b", "float32", ["k", "n"], "in"), arg("c", "float32", ["m", "n"], "out"),
               size("m"), size("n"), size("k")],
              [{"m": 1, "n": 1, "k": 1}, {"m": 17, "n": 33, "k": 20}, {"m": 32, "n": 16, "k": 48}], {"m": 64, "n": 80, "k": 96},
              "void reference(const float* a, const float* b, float* c, int m, int n, int k) { for (int i = 0; i < m; ++i) for (int j = 0; j < n; ++j) { double s = 0; for (int p = 0; p < k; ++p) s += (double)a[i * k + p] * b[p * n + j]; c[i * n + j] = s; } }")
MS = "void solve(const float* a, const float* b, float* c, int m, int n, int k) { mm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k); }"
TILED = ("#define T 16\n__global__ void mm(const float* a, const float* b, float* c, int m, int n, int k) {\n  __shared__ float s[T][T], t[T][T + 1];\n"
         "  int x = threadIdx.x, y = threadIdx.y, j = blockIdx.x * T + x, i = blockIdx.y * T + y;\n  float v = 0;\n  for (int p = 0; p < k; p += T) {\n"
         "    s[y][x] = i < m && p + x < k ? a[i * k + p + x] : 0.f;\n    t[y][x] = j < n && p + y < k ? b[(p + y) * n + j] : 0.f;\n    __syncthreads();\n"
         "    for (int q = 0; q < T; ++q) v += s[y][q] * t[q][x];\n    __syncthreads();\n  }\n  if (i < m && j < n) c[i * n + j] = v;\n}\n")
rows("matmul", MAT,
     ("naive", "ok", "__global__ void mm(const float* a, const float* b, float* c, int m, int n, int k) { int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y; if (i >= m || j >= n) return; float v = 0; for (int p = 0; p < k; ++p) v += a[i * k + p] * b[p * n + j]; c[i * n + j] = v; }\n" + MS),
     ("tiled", "ok", TILED + MS),
     ("no-last-barrier", "race", TILED.replace("t[q][x];\n    __syncthreads();\n", "t[q][x];\n") + MS),
     ("no-guard", "out_of_bounds", TILED.replace("i < m && p + x < k ? a[i * k + p + x] : 0.f", "a[i * k + p + x]") + MS),
     ("square-only", "wrong_answer out_of_bounds", TILED.replace("b[(p + y) * n + j]", "b[(p + y) * k + j]") + MS),
     ("transposed", "wrong_answer", TILED.replace("s[y][q] * t[q][x]", "s[y][q] * t[x][q]") + MS))


def records():
    """One record a problem, so that a line has many rollouts; ids of the rows in order."""
    grouped = {}
    for name, task, statuses, turn in ROWS:
        grouped.setdefault(name.split("/")[0], (task, []))[1].append((name, statuses, turn))
    lines, names = [], []
    for group, (task, entries) in grouped.items():
        # Long groups in several lines, so that lines run beside each other.
        for at in range(0, len(entries), 12):
            part = entries[at : at + 12]
            lines.append({"id": f"{group}:{at}", "task": task, "rollouts": [{"turns": [dict(t)]} for _, _, t in part]})
            names += [(name, statuses) for name, statuses, _ in part]
    return lines, names


class Judge(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        lines, cls.names = records()
        cls.text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        before = leftovers()
        cls.verdicts = cls.run_tool("-j4", text=cls.text)
        # Every third line again, one after another and in another order of threads.
        some = [k for k in range(len(lines)) if k % 3 == 0]
        cls.again = cls.run_tool("-j1", "--order", "1", text=b"".join(cls.text.splitlines(True)[k] for k in some))
        starts = [sum(len(line["rollouts"]) for line in lines[:k]) for k in range(len(lines))]
        cls.places = [starts[k] + i for k in some for i in range(len(lines[k]["rollouts"]))]
        cls.left = [x for x in leftovers() if x not in before]

    @classmethod
    def run_tool(cls, *flags, text):
        done = subprocess.run([BIN / "leap-verify", *flags], input=text, capture_output=True, timeout=900)
        if done.returncode or done.stderr:
            raise AssertionError(f"status {done.returncode}: {done.stderr.decode()}")
        return [r["turns"][-1]["verdict"] for line in done.stdout.splitlines() for r in json.loads(line)["rollouts"]]

    def test_statuses(self):
        wrong = [(name, v["status"], statuses, v["feedback"]) for (name, statuses), v in zip(self.names, self.verdicts)
                 if v["status"] not in statuses]
        self.assertEqual(wrong, [])

    def test_again(self):
        self.assertGreater(len(self.again), 30)
        for at, verdict in zip(self.places, self.again):
            name, statuses = self.names[at]
            self.assertIn(verdict["status"], statuses, name)
            if statuses == ["ok"] or self.verdicts[at]["stage"] == "compile":
                self.assertEqual({k: v for k, v in verdict.items() if k != "measured"},
                                 {k: v for k, v in self.verdicts[at].items() if k != "measured"}, name)

    def test_no_cheat_is_ok(self):
        for (name, statuses), verdict in zip(self.names, self.verdicts):
            if "ok" not in statuses:
                self.assertNotEqual(verdict["status"], "ok", name)

    def test_feedback_is_clean(self):
        for (name, _), verdict in zip(self.names, self.verdicts):
            with self.subTest(name):
                for word in ("/tmp", "/work", "leap_", "solution.cpp"):
                    self.assertNotIn(word, verdict["feedback"])
                self.assertLessEqual(len(verdict["feedback"].encode()), 2100)

    def test_verdicts_are_whole(self):
        sandbox = flags_here(BIN / "leap-verify")
        for (name, task, *_), verdict in zip(ROWS, self.verdicts):
            with self.subTest(name):
                total = max(5, len(task["check"]["sizes"]) + 1) + 1
                self.assertEqual(verdict["device"], "cpu-emulation")
                self.assertEqual(verdict["total"], total)
                solved = verdict["status"] in ("ok", "suspect")
                self.assertEqual(solved, verdict["passed"] == total)
                self.assertEqual(verdict["status"] == "suspect", bool(solved and set(verdict["flags"]) - set(sandbox)))
                self.assertNotIn("harness", verdict["flags"])
                self.assertIsNone(verdict["measured"]["speedup"])

    def test_lines_of_errors(self):
        found = {name: v["feedback"] for (name, _), v in zip(self.names, self.verdicts)}
        self.assertIn("at line 3", found["scale-wrong/off-by-one"])
        self.assertIn("line 6:", found["scale-wrong/syntax"])

    def test_nothing_is_left(self):
        self.assertEqual(self.left, [])


if __name__ == "__main__":
    unittest.main(argv=["kernel_judge_test"])
