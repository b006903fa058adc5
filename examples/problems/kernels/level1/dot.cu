/*
The dot product of two vectors in double precision: `result[0] = sum_i a[i] * b[i]`; 0 if n is 0.

in a float64 [n] uniform 0 1
in b float64 [n] uniform 0 2
out result float64 [1]
sizes n = 0 1 129 3000 50000
benchmark 262144
tolerance 1e-9
wrong wrong_answer: a[i] * b[i] => (float)a[i] * (float)b[i]
wrong race|wrong_answer|nondeterministic: atomicAdd(result, total) => *result = *result + total
*/
void reference(const double* a, const double* b, double* result, int n) {
  long double sum = 0;
  for (int i = 0; i < n; ++i) sum += (long double)a[i] * b[i];
  result[0] = sum;
}

// solution
#include <cub/cub.cuh>

constexpr int kThreads = 128;

__global__ void dot_kernel(const double* a, const double* b, double* result, int n) {
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  double mine = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) mine += a[i] * b[i];
  double total = Reduce(storage).Sum(mine);
  if (threadIdx.x == 0) atomicAdd(result, total);
}

void solve(const double* a, const double* b, double* result, int n) {
  cudaMemsetAsync(result, 0, sizeof(double));
  dot_kernel<<<8, kThreads>>>(a, b, result, n);
}
