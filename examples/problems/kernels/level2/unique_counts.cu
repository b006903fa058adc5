/*
Run-length encoding of a sorted array: `value` gets the different values of x in ascending order and `times` how often
each occurs; `different[0]` is how many there are. All places of `value` and `times` behind them are 0. n is at least 1.

in x int32 [n] integers 1 200 sorted
out value int32 [n]
out times int32 [n]
out different int32 [1]
sizes n = 1 2 100 3001
benchmark 32768
wrong wrong_answer|no_output: cudaMemset(times, 0, n * sizeof(int)); =>
wrong wrong_answer|out_of_bounds: i == 0 || x[i] != x[i - 1] => i > 0 && x[i] != x[i - 1]
*/
void reference(const int* x, int* value, int* times, int* different, int n) {
  for (int i = 0; i < n; ++i) {
    if (i == 0 || x[i] != x[i - 1]) value[different[0]++] = x[i];
    ++times[different[0] - 1];
  }
}

// solution
#include <cub/cub.cuh>

__global__ void mark_starts(const int* x, int* start, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) start[i] = i == 0 || x[i] != x[i - 1];
}

// `run` is the number of runs that have started up to i.
__global__ void count_runs(const int* x, const int* run, int* value, int* times, int* different, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&times[run[i] - 1], 1);
  if (i == 0 || run[i] != run[i - 1]) value[run[i] - 1] = x[i];
  if (i == n - 1) *different = run[i];
}

void solve(const int* x, int* value, int* times, int* different, int n) {
  cudaMemset(value, 0, n * sizeof(int));
  cudaMemset(times, 0, n * sizeof(int));
  int *start, *run;
  cudaMalloc(&start, n * sizeof(int));
  cudaMalloc(&run, n * sizeof(int));
  int blocks = (n + 255) / 256;
  mark_starts<<<blocks, 256>>>(x, start, n);
  void* scratch = nullptr;
  size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(scratch, bytes, start, run, n);
  cudaMalloc(&scratch, bytes);
  cub::DeviceScan::InclusiveSum(scratch, bytes, start, run, n);
  count_runs<<<blocks, 256>>>(x, run, value, times, different, n);
  cudaFree(scratch);
  cudaFree(run);
  cudaFree(start);
}
