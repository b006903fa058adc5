/*
The k largest elements of each row, in descending order: `value[r][0]` is the largest, and `index[r][i]` is the column
where `value[r][i]` stands. Of equal elements the one with the smaller column comes first (equal ones are frequent).
It holds that 1 <= k <= cols, k <= 32.

in x float32 [rows, cols] integers -60 60
out value float32 [rows, k]
out index int32 [rows, k]
sizes rows,cols,k = 1,1,1 5,32,32 9,100,7 3,1000,20
benchmark 64,1024,8
tolerance 1e-6
wrong wrong_answer: u.value > v.value || (u.value == v.value && u.column < v.column) => u.value > v.value || (u.value == v.value && u.column > v.column)
wrong race|wrong_answer|nondeterministic: __syncthreads();  // the winner is taken => // the winner is taken
*/
#include <algorithm>
#include <numeric>
#include <vector>

void reference(const float* x, float* value, int* index, int rows, int cols, int k) {
  std::vector<int> order(cols);
  for (int r = 0; r < rows; ++r) {
    const float* row = x + r * cols;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
    for (int i = 0; i < k; ++i) {
      index[r * k + i] = order[i];
      value[r * k + i] = row[order[i]];
    }
  }
}

// solution
struct Candidate {
  float value;
  int column;
};

__device__ bool better(const Candidate& u, const Candidate& v) {
  return u.value > v.value || (u.value == v.value && u.column < v.column);
}

// k rounds: each finds the best element that comes after the one found before.
__global__ void top_k(const float* x, float* value, int* index, int cols, int k) {
  __shared__ Candidate best[128];
  const float* row = x + (size_t)blockIdx.x * cols;
  Candidate previous = {INFINITY, -1};
  for (int round = 0; round < k; ++round) {
    Candidate mine = {-INFINITY, cols};
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
      Candidate other = {row[c], c};
      if (better(previous, other) && better(other, mine)) mine = other;
    }
    best[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half && better(best[threadIdx.x + half], best[threadIdx.x]))
        best[threadIdx.x] = best[threadIdx.x + half];
      __syncthreads();
    }
    previous = best[0];
    if (threadIdx.x == 0) {
      value[blockIdx.x * k + round] = previous.value;
      index[blockIdx.x * k + round] = previous.column;
    }
    __syncthreads();  // the winner is taken
  }
}

void solve(const float* x, float* value, int* index, int rows, int cols, int k) {
  top_k<<<rows, 128>>>(x, value, index, cols, k);
}
