/*
Reverse an array in place: element i and element n-1-i change places.

inout x int32 [n]
sizes n = 0 1 2 255 10001
benchmark 131072
wrong race|wrong_answer|nondeterministic: i < n / 2 => i < n
wrong wrong_answer: n - 1 - i => n / 2 + i
*/
#include <algorithm>

void reference(int* x, int n) {
  std::reverse(x, x + n);
}

// solution
__device__ void exchange(int& a, int& b) {
  int t = a;
  a = b;
  b = t;
}

__global__ void reverse_kernel(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) exchange(x[i], x[n - 1 - i]);
}

void solve(int* x, int n) { reverse_kernel<<<n / 256 + 1, 128>>>(x, n); }
