/*
Sort integers in ascending order: y gets the elements of x.

in x int32 [n] integers -100000 100000
out y int32 [n]
sizes n = 0 1 2 501 3000
benchmark 8192
wrong wrong_answer: (i & length) == 0 => (i & length) != 0
wrong wrong_answer: i < n ? x[i] : INT_MAX => i < n ? x[i] : 0
*/
#include <algorithm>

void reference(const int* x, int* y, int n) {
  std::copy(x, x + n, y);
  std::sort(y, y + n);
}

// solution
#include <climits>

__global__ void fill(const int* x, int* work, int n, int padded) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < padded) work[i] = i < n ? x[i] : INT_MAX;
}

// One step of the bitonic network: compare with the partner at `distance`.
__global__ void bitonic_step(int* work, int length, int distance) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int partner = i ^ distance;
  if (partner <= i) return;
  int a = work[i], b = work[partner];
  bool ascending = (i & length) == 0;
  if ((a > b) == ascending) {
    work[i] = b;
    work[partner] = a;
  }
}

void solve(const int* x, int* y, int n) {
  if (n == 0) return;
  int padded = 256;
  while (padded < n) padded *= 2;
  int* work;
  cudaMalloc(&work, padded * sizeof(int));
  int blocks = padded / 256;
  fill<<<blocks, 256>>>(x, work, n, padded);
  for (int length = 2; length <= padded; length *= 2)
    for (int distance = length / 2; distance > 0; distance /= 2)
      bitonic_step<<<blocks, 256>>>(work, length, distance);
  cudaMemcpy(y, work, n * sizeof(int), cudaMemcpyDeviceToDevice);
  cudaFree(work);
}
