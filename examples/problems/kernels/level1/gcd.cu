/*
Greatest common divisors: `g[i]` is the largest integer that divides both `a[i]` and `b[i]`. All values are positive.

in a int32 [n] integers 1 100000
in b int32 [n] integers 1 100000
out g int32 [n]
sizes n = 1 33 2000 4097
benchmark 65536
wrong wrong_answer: while (v != 0) => while (v > 1)
wrong wrong_answer|timeout: int r = u % v; => int r = u - v;
*/
#include <numeric>

void reference(const int* a, const int* b, int* g, int n) {
  for (int i = 0; i < n; ++i) g[i] = std::gcd(a[i], b[i]);
}

// solution
__host__ __device__ inline int gcd_of(int u, int v) {
  while (v != 0) {
    int r = u % v;
    u = v;
    v = r;
  }
  return u;
}

__global__ void gcd_kernel(const int* a, const int* b, int* g, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) g[i] = gcd_of(a[i], b[i]);
}

void solve(const int* a, const int* b, int* g, int n) {
  void* arguments[] = {&a, &b, &g, &n};
  cudaLaunchKernel((const void*)gcd_kernel, dim3((n + 127) / 128), dim3(128), arguments, 0, 0);
}
