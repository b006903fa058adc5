// Launches in all forms, shared memory in all forms, templates, lambdas, function pointers.
#include <cuda_runtime.h>
#include "test.h"

namespace deep { namespace inside {
template <typename T, int N>
__global__ void __launch_bounds__(N) scale(T* x, T factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
}}

__global__ void declared_first(int* out, int value);

static __global__ void add_one(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

extern "C" __global__ __launch_bounds__(256, 2) void c_kernel(float *x, const float4 *__restrict__ y, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    float4 v = y[i];
    x[i] = v.x + v.y + v.z + v.w;
}

__global__ void declared_first(int* out, int value) {
  n_used:
  if (threadIdx.x == 0) *out = value;
  goto end;
end:
  return;
}

template <typename T>
__global__ typename std::enable_if<(sizeof(T) > 2), void>::type constrained(T* out) { out[threadIdx.x] = T(threadIdx.x); }

template <int BLOCK, typename... Ts>
__global__ void variadic(double* out, Ts... values) {
  double all[] = {double(values)...};
  double sum = 0;
#pragma unroll
  for (int i = 0; i < int(sizeof...(Ts)); ++i) sum += all[i];
  out[threadIdx.x] = sum * BLOCK;
}

struct Functor {
  float a;
  __host__ __device__ float operator()(float x) const { return a * x + 1; }
};
template <typename F>
__global__ void apply(float* x, int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) x[i] = f(x[i]);
}

struct Holder {
  static __global__ void member(int* x) { x[threadIdx.x] = 7; }
  int* data;
  void go(int n) { member<<<1, n>>>(data); }
};

template <typename T>
__device__ T block_sum(T v) {
  __shared__ T part[32], total;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  if (!lane) part[warp] = v;
  __syncthreads();
  if (threadIdx.x == 0) { total = 0; for (int i = 0; i < blockDim.x / 32; i++) total += part[i]; }
  __syncthreads();
  return total;
}
template <typename T>
__global__ void sums(const T* x, T* out) {
  T s = block_sum<T>(x[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = s;
}

extern __shared__ float at_file_scope[];
__global__ void file_scope(float* out) {
  at_file_scope[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = at_file_scope[blockDim.x - 1 - threadIdx.x];
}
template <typename T>
__global__ void typed_dynamic(T* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* mine = reinterpret_cast<T*>(raw);
  int* second = (int*)&mine[blockDim.x];
  mine[threadIdx.x] = T(threadIdx.x);
  second[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int j = (threadIdx.x + 1) % blockDim.x;
  out[threadIdx.x] = mine[j] + T(second[j]);
}
template <typename T>
__global__ void dynamic_of_type(T* out) {
  extern __shared__ T buffer[];
  buffer[threadIdx.x] = T(2);
  __syncthreads();
  out[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}
#define TILE 8
__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[TILE][TILE + 1]; volatile __shared__ int flag;
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  flag = 1;
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
  if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void lambdas(int* out) {
  __shared__ int s[4];
  auto put = [=](int v) { s[threadIdx.x] = v; };
  put(int(threadIdx.x) * 3);
  __syncthreads();
  auto get = [&](int i) { return s[i]; };
  out[threadIdx.x] = get(3 - threadIdx.x);
}
__global__ void modifies(int n, int* out) {
  while (n > 10) n -= 3;
  out[threadIdx.x] = n;
}
__global__ void with_default(int* out, int value = 5) { out[threadIdx.x] = value; }
__constant__ float coefficients[3];
__device__ int counter;
__device__ float table[4] = {1, 2, 3, 4};
__managed__ int managed_value;
__global__ void globals(float* out) {
  out[threadIdx.x] = coefficients[threadIdx.x % 3] * table[threadIdx.x % 4];
  atomicAdd(&counter, 1);
  if (threadIdx.x == 0) managed_value = 42;
}
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __forceinline__ int (*pick(bool up))(int) { return twice; }
__global__ void pointers(int* out) { out[threadIdx.x] = pick(true)(threadIdx.x); }

#define LAUNCH(K, G, B, ...)        \
  do {                              \
    K<<<(G), (B)>>>(__VA_ARGS__);   \
  } while (0)

int main() {
  const int n = 1000;
  Buffer<float> x(n);
  for (int i = 0; i < n; ++i) x.host[i] = i;
  x.up();
  deep::inside::scale<float, 256><<<(n + 255) / 256, 256>>>(x.device, 2.0f, n);
  x.down();
  for (int i = 0; i < n; ++i) EXPECT(x.host[i] == 2.0f * i);
  Buffer<int> k(256);
  k.set(0);
  add_one<<<dim3(4), dim3(64)>>>(k.device);
  switch (1) { case 1:add_one<<<4, 64, 0, 0>>>(k.device); }
  if (n) add_one<<<4, 64>>>(k.device); else add_one<<<1, 1>>>(k.device);
  LAUNCH(add_one, 4, 64, k.device);
  void (*pointer)(int*) = add_one;
  pointer<<<4, 64>>>(k.device);
  (*pointer)<<<4, 64>>>(k.device);
  void (*table_of[2])(int*) = {add_one, &add_one};
  table_of[1]<<<4, 64>>>(k.device);
  auto launcher = [&](int grid) { add_one<<<grid, 64>>>(k.device); };
  launcher(4);
  k.down();
  for (int i = 0; i < 256; ++i) EXPECT(k.host[i] == 8);
  int* kd = k.device;
  void* arguments[] = {&kd};
  EXPECT(cudaLaunchKernel((void*)add_one, dim3(4), dim3(64), arguments, 0, 0) == cudaSuccess);
  EXPECT(cudaLaunchKernel((const void*)&add_one, 4, 64, arguments) == cudaSuccess);
  EXPECT(cudaLaunchKernel(add_one, 4, 64, arguments) == cudaSuccess);
  const void* handle = (const void*)add_one;
  EXPECT(cudaLaunchKernel(handle, 4, 64, arguments) == cudaSuccess);
  EXPECT(cudaLaunchKernel(reinterpret_cast<void*>(&add_one), 4, 64, arguments, 0, 0) == cudaSuccess);
  cudaLaunchConfig_t config = {};
  config.gridDim = 4; config.blockDim = 64;
  EXPECT(cudaLaunchKernelEx(&config, add_one, k.device) == cudaSuccess);
  k.down();
  for (int i = 0; i < 256; ++i) EXPECT(k.host[i] == 14);
  declared_first<<<1, 32>>>(k.device, 99);
  Holder holder{k.device + 1};
  holder.go(10);
  k.down();
  EXPECT(k.host[0] == 99 && k.host[1] == 7 && k.host[10] == 7 && k.host[11] == 14);
  Buffer<float4> f(8);
  for (int i = 0; i < 8; ++i) f.host[i] = make_float4(i, 1, 2, 3);
  f.up();
  c_kernel<<<1, 32>>>(x.device, f.device, 8);
  x.down();
  for (int i = 0; i < 8; ++i) EXPECT(x.host[i] == i + 6);
  constrained<<<1, 8>>>(x.device);
  x.down();
  EXPECT(x.host[7] == 7);
  Buffer<double> d(4);
  variadic<3><<<1, 4>>>(d.device, 1, 2.5f, 3.0);
  d.down();
  EXPECT(d.host[3] == 19.5);
  apply<<<3, 32>>>(x.device, n, Functor{2});
  float b = 4;
  apply<<<3, 32>>>(x.device, n, [=] __device__(float v) { return v + b; });
  apply<<<3, 32>>>(x.device, n, [b] __host__ __device__ (float v) { return v * b; });
  x.down();
  EXPECT(x.host[7] == (2 * 7 + 1 + 4) * 4);
  Buffer<int> ones(512), sum(2);
  for (auto& v : ones.host) v = 3;
  ones.up();
  sums<int><<<2, 256>>>(ones.device, sum.device);
  sum.down();
  EXPECT(sum.host[0] == 768 && sum.host[1] == 768);
  file_scope<<<1, 16, 16 * sizeof(float)>>>(x.device);
  x.down();
  EXPECT(x.host[3] == 12);
  typed_dynamic<double><<<1, 4, 4 * 12>>>(d.device);
  d.down();
  EXPECT(d.host[1] == 4);
  typed_dynamic<float><<<1, 4, 4 * 8>>>(x.device);
  dynamic_of_type<int><<<1, 4, 16>>>(k.device);
  dynamic_of_type<double><<<1, 4, 32>>>(d.device);
  x.down(); k.down(); d.down();
  EXPECT(x.host[3] == 0 && k.host[3] == 2 && d.host[2] == 2);
  Buffer<float> m(20 * 20), t(20 * 20);
  for (int i = 0; i < 400; ++i) m.host[i] = i;
  m.up();
  transpose<<<dim3(3, 3), dim3(TILE, TILE)>>>(m.device, t.device, 20);
  t.down();
  for (int i = 0; i < 400; ++i) EXPECT(t.host[i] == (i % 20) * 20 + i / 20);
  lambdas<<<1, 4>>>(k.device);
  k.down();
  EXPECT(k.host[0] == 9 && k.host[3] == 0);
  modifies<<<1, 64>>>(100, k.device);
  k.down();
  EXPECT(k.host[0] == 10 && k.host[63] == 10);
  with_default<<<1, 4>>>(k.device);
  k.down();
  EXPECT(k.host[3] == 5);
  float c[3] = {10, 20, 30};
  EXPECT(cudaMemcpyToSymbol(coefficients, c, sizeof(c)) == cudaSuccess);
  globals<<<2, 4>>>(x.device);
  x.down();
  EXPECT(x.host[1] == 40 && x.host[3] == 40);
  int count;
  cudaMemcpyFromSymbol(&count, counter, sizeof(int));
  EXPECT(count == 8 && managed_value == 42);
  int* address;
  cudaGetSymbolAddress((void**)&address, counter);
  cudaMemset(address, 0, 4);
  cudaMemcpyFromSymbol(&count, counter, 4);
  EXPECT(count == 0);
  pointers<<<1, 4>>>(k.device);
  k.down();
  EXPECT(k.host[3] == 6);
  EXPECT(cudaGetLastError() == cudaSuccess);
  return done();
}
