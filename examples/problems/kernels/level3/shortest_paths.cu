/*
Lengths of the shortest paths between all pairs of n nodes. `w[i][j]` is the length of the edge from i to j, or -1 if there is
none; `w[i][i]` does not matter. `d[i][j]` is the smallest total length of a path from i to j, -1 if there is no path, and
`d[i][i] = 0`.

in w int32 [n, n] choice -1 -1 -1 -1 -1 -1 1 2 5 9 40
out d int32 [n, n]
sizes n = 1 2 17 45
benchmark 64
wrong wrong_answer: k < n; ++k => k < n - 1; ++k
wrong wrong_answer: through < d[at] => d[at] == kFar
*/
#include <algorithm>
#include <vector>

void reference(const int* w, int* d, int n) {
  const long long none = 1LL << 40;
  std::vector<long long> best(n * n);
  for (int i = 0; i < n * n; ++i) best[i] = i / n == i % n ? 0 : w[i] < 0 ? none : w[i];
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        best[i * n + j] = std::min(best[i * n + j], best[i * n + k] + best[k * n + j]);
  for (int i = 0; i < n * n; ++i) d[i] = best[i] >= none ? -1 : best[i];
}

// solution
constexpr int kFar = 1 << 29;

__global__ void start(const int* w, int* d, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) d[i * n + j] = i == j ? 0 : w[i * n + j] < 0 ? kFar : w[i * n + j];
}

// Row k and column k do not change in round k, so nobody reads what another one writes.
__global__ void through_node(int* d, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n || i == k || j == k) return;
  int at = i * n + j;
  int through = d[i * n + k] + d[k * n + j];
  if (through < d[at]) d[at] = through;
}

__global__ void finish(int* d, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && d[i] >= kFar) d[i] = -1;
}

void solve(const int* w, int* d, int n) {
  dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
  start<<<grid, block>>>(w, d, n);
  for (int k = 0; k < n; ++k) through_node<<<grid, block>>>(d, n, k);
  finish<<<(n * n + 255) / 256, 256>>>(d, n * n);
}
