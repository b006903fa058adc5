/*
Find the largest of n integers and where it first stands: `result[0]` is the maximum of x, `result[1]` the smallest i
with `x[i] == result[0]`. The maximum usually occurs several times.

in x int32 [n] integers -40 40
out result int32 [2]
sizes n = 1 31 1000 20000
benchmark 262144
wrong wrong_answer: 0xffffffffu - (unsigned)i => (unsigned)i
wrong wrong_answer: (unsigned)x[i] ^ 0x80000000u => (unsigned)x[i]
*/
#include <algorithm>

void reference(const int* x, int* result, int n) {
  const int* best = std::max_element(x, x + n);
  result[0] = *best;
  result[1] = best - x;
}

// solution
// Value and place in one 64-bit key, the order of which prefers large values, then small places.
__global__ void find_best(const int* x, unsigned long long* best, int n) {
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned value = (unsigned)x[i] ^ 0x80000000u;
    unsigned long long key = (unsigned long long)value << 32 | (0xffffffffu - (unsigned)i);
    if (key > mine) mine = key;
  }
  atomicMax(best, mine);
}

__global__ void unpack(const unsigned long long* best, int* result) {
  result[0] = (int)((unsigned)(*best >> 32) ^ 0x80000000u);
  result[1] = (int)(0xffffffffu - (unsigned)*best);
}

void solve(const int* x, int* result, int n) {
  unsigned long long* best;
  cudaMalloc(&best, sizeof(*best));
  cudaMemset(best, 0, sizeof(*best));
  find_best<<<8, 256>>>(x, best, n);
  unpack<<<1, 1>>>(best, result);
  cudaFree(best);
}
