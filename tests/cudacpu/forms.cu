// Ways in which kernels are written: macros, conditional branches, specialisations, classes.
#include <cuda_runtime.h>
#include <iostream>
#include "test.h"
using namespace std;
#define BLOCK_SIZE 64
#define DEFINE_KERNEL(NAME, EXPR)                                    \
  __global__ void NAME(float* x, int n) {                            \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                   \
    if (i >= n) return;                                              \
    x[i] = EXPR;                                                     \
  }
DEFINE_KERNEL(relu_k, fmaxf(x[i], 0.f))
DEFINE_KERNEL(twice_k, x[i] * 2)
__global__ void branches(float* x, int n) {
  int i = threadIdx.x;
#if BLOCK_SIZE > 32
  if (i < n) {
#else
  if (i < n / 2) {
#endif
    x[i] = abs(x[i] - 1.5f);
  }
#ifdef NEVER
  x[0] = 1;
#else
  x[i] += 0.0f;
#endif
}
template <typename T> __global__ void spec(T* x) { x[threadIdx.x] = 1; }
template <> __global__ void spec<float>(float* x) { x[threadIdx.x] = 2; }
template __global__ void spec<int>(int*);
template <typename T, int VEC = 4>
class Runner {
 public:
  static __global__ void run(T* x) {
    __shared__ T cache[VEC * 16];
    cache[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = cache[VEC * 16 - 1 - threadIdx.x];
  }
  void go(T* x) { run<<<1, VEC * 16>>>(x); }
};
namespace { __device__ float helper(float v) { return v + 0 * exp(-v); } }
__global__ void uses(float* x) { x[threadIdx.x] = helper(x[threadIdx.x]); printf("%s", threadIdx.x > 1000 ? "x" : ""); }
enum class Op { Add, Mul };
template <Op OP> struct Apply;
template <> struct Apply<Op::Add> { static __device__ __forceinline__ float f(float a, float b) { return a + b; } };
template <> struct Apply<Op::Mul> { static __device__ __forceinline__ float f(float a, float b) { return a * b; } };
template <Op OP, typename T>
__global__ __launch_bounds__(BLOCK_SIZE, 2) void binary(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, size_t n) {
  for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    if constexpr (sizeof(T) == 4) c[i] = Apply<OP>::f(a[i], b[i]);
  }
}
__global__ void dynamic_struct(float* out) {
  extern __shared__ char smem[];
  struct Pair { float a; int b; };
  Pair* p = (Pair*)smem;
  float* f = (float*)(p + blockDim.x);
  p[threadIdx.x] = {float(threadIdx.x), int(threadIdx.x)};
  f[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = p[(threadIdx.x + 1) % blockDim.x].a + f[threadIdx.x];
}
__global__ void dynamic_float(float* out) {
  extern __shared__ float smem[];
  smem[threadIdx.x] = 3;
  __syncthreads();
  out[threadIdx.x] = smem[0];
}
template <int N> __device__ void fill(float (&a)[N], float v) {
#pragma unroll
  for (int i = 0; i < N; i++) a[i] = v;
}
__global__ void locals(float* out) {
  float acc[4][2];
  #pragma unroll
  for (int i = 0; i < 4; i++) fill(acc[i], i);
  float s = 0;
  #pragma unroll 4
  for (auto& row : acc) for (float v : row) s += v;
  out[threadIdx.x] = s;
}
struct Node { int value; Node* next; };
__device__ Node* make(int v, Node* next) { Node* n = new Node; n->value = v; n->next = next; return n; }
__global__ void heap(int* out) {
  int* mine = (int*)malloc(4 * sizeof(int));
  for (int i = 0; i < 4; ++i) mine[i] = threadIdx.x + i;
  Node* list = nullptr;
  for (int i = 0; i < 3; ++i) list = make(mine[i], list);
  int sum = 0;
  while (list) { sum += list->value; Node* next = list->next; delete list; list = next; }
  float* more = new float[8];
  more[7] = sum;
  out[threadIdx.x] = more[7];
  delete[] more;
  free(mine);
}
__device__ volatile int turn;
__global__ void spins(int* out) {
  // Each block waits for the one before.
  if (threadIdx.x == 0) {
    while (turn != (int)blockIdx.x);
    out[blockIdx.x] = turn;
    __threadfence();
    do { turn = turn + 1; } while (false);
    int seen;
    do { seen = turn; } while (seen < (int)gridDim.x);
    while (true) { if (turn >= (int)gridDim.x) break; }
    while (turn <= (int)blockIdx.x) { }
  }
}
typedef void (*kernel_t)(float*, int);
#define CHECK(call) do { cudaError_t e = call; if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); } } while (0)
int main() {
  Buffer<float> x(64), y(64), z(64);
  for (int i = 0; i < 64; ++i) x.host[i] = i - 32;
  x.up();
  relu_k<<<1, 64>>>(x.device, 64);
  twice_k<<<1, 64>>>(x.device, 64);
  branches<<<1, 64>>>(x.device, 64);
  x.down();
  EXPECT(x.host[0] == 1.5f && x.host[34] == 2.5f && x.host[33] == 0.5f);
  spec<<<1, 4>>>(x.device);
  x.down();
  EXPECT(x.host[0] == 2);
  Runner<float>().go(x.device);
  uses<<<1, 64>>>(x.device);
  x.down();
  EXPECT(x.host[63] == 2);
  binary<Op::Mul><<<2, BLOCK_SIZE>>>(x.device, x.device, y.device, (size_t)64);
  binary<Op::Add, float><<<2, BLOCK_SIZE>>>(x.device, y.device, z.device, 64);
  z.down();
  EXPECT(z.host[63] == 6);
  CHECK(cudaFuncSetAttribute(binary<Op::Add, float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  CHECK(cudaFuncSetAttribute((const void*)binary<Op::Add, float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  dynamic_struct<<<1, 16, 16 * (8 + 4)>>>(x.device);
  dynamic_float<<<1, 16, 64>>>(y.device);
  x.down(); y.down();
  EXPECT(x.host[1] == 3 && y.host[5] == 3);
  locals<<<1, 1>>>(x.device);
  x.down();
  EXPECT(x.host[0] == 12);
  kernel_t table[] = {relu_k, twice_k};
  for (kernel_t k : table) k<<<1, 64>>>(x.device, 64);
  kernel_t chosen = true ? relu_k : twice_k;
  chosen<<<1, 64>>>(x.device, 64);
  int n = 64;
  float* xd = x.device;
  void* args[] = {(void*)&xd, (void*)&n};
  CHECK(cudaLaunchKernel((void*)twice_k, dim3(1), dim3(64), args, 0, NULL));
    Buffer<int> h(32);
  heap<<<2, 32>>>(h.device);
  h.down();
  EXPECT(h.host[5] == 5 + 6 + 7);
  spins<<<16, 32>>>(h.device);
  h.down();
  EXPECT(h.host[15] == 15);
  return done();
}
