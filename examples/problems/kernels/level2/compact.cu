/*
Keep the positive elements: `kept` gets all `x[i] > 0` in their original order, followed by -1 in all places that
remain, and `count[0]` is how many were kept.

in x int32 [n] integers -30 60
out kept int32 [n]
out count int32 [1]
sizes n = 0 1 64 1000 3001
benchmark 65536
wrong race|wrong_answer|out_of_bounds: offsets[i + 1] => offsets[i]
wrong wrong_answer|no_output: i >= offsets[n] => i > offsets[n]
*/
void reference(const int* x, int* kept, int* count, int n) {
  for (int i = 0; i < n; ++i) kept[i] = -1;
  for (int i = 0; i < n; ++i)
    if (x[i] > 0) kept[count[0]++] = x[i];
}

// solution
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

__global__ void flag_positive(const int* x, int* offsets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) offsets[0] = 0;
  if (i < n) offsets[i + 1] = x[i] > 0;
}

__global__ void place(const int* x, const int* offsets, int* kept, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) kept[offsets[i]] = x[i];
}

__global__ void fill_rest(const int* offsets, int* kept, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *count = offsets[n];
  if (i < n && i >= offsets[n]) kept[i] = -1;
}

void solve(const int* x, int* kept, int* count, int n) {
  int* offsets;
  cudaMalloc(&offsets, (n + 1) * sizeof(int));
  int blocks = n / 256 + 1;
  flag_positive<<<blocks, 256>>>(x, offsets, n);
  thrust::inclusive_scan(thrust::device, offsets, offsets + n + 1, offsets);
  place<<<blocks, 256>>>(x, offsets, kept, n);
  fill_rest<<<blocks, 256>>>(offsets, kept, count, n);
  cudaFree(offsets);
}
