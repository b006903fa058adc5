/*
Sort records by their key, stably: `order` is the permutation of 0..n-1 that puts the keys in ascending order, with equal
keys in their original order; `sorted[i] = key[order[i]]`. Keys repeat a lot.

in key int32 [n] integers -50 50
out sorted int32 [n]
out order int32 [n]
sizes n = 1 2 301 5000
benchmark 65536
wrong wrong_answer: stable_sort_by_key(thrust::device, sorted, sorted + n, order) => stable_sort_by_key(thrust::device, sorted, sorted + n / 2, order)
wrong wrong_answer: order[i] = i; => order[i] = n - 1 - i;
*/
#include <algorithm>
#include <numeric>

void reference(const int* key, int* sorted, int* order, int n) {
  std::iota(order, order + n, 0);
  std::stable_sort(order, order + n, [&](int a, int b) { return key[a] < key[b]; });
  for (int i = 0; i < n; ++i) sorted[i] = key[order[i]];
}

// solution
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

__global__ void prepare(const int* key, int* sorted, int* order, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    sorted[i] = key[i];
    order[i] = i;
  }
}

void solve(const int* key, int* sorted, int* order, int n) {
  prepare<<<(n + 255) / 256, 256>>>(key, sorted, order, n);
  thrust::stable_sort_by_key(thrust::device, sorted, sorted + n, order);
}
