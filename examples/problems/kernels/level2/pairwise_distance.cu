/*
Euclidean distance between all pairs of points: `d[i][j] = sqrt(sum_k (a[i][k] - b[j][k])^2)`. Some points of b are
also points of a: take care that rounding does not turn a small square into a negative one.

in a float32 [n, dim] choice -1 0 1 2
in b float32 [m, dim] choice -1 0 1 2
out d float32 [n, m]
sizes n,m,dim = 1,1,1 10,9,2 33,17,16 20,65,35
benchmark 128,128,32
tolerance 1e-4
wrong wrong_answer: sqrtf(sum) => sum
wrong race|wrong_answer|nondeterministic: __syncthreads();  // tile used => // tile used
*/
#include <cmath>

void reference(const float* a, const float* b, float* d, int n, int m, int dim) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      double sum = 0;
      for (int k = 0; k < dim; ++k) sum += std::pow(double(a[i * dim + k]) - b[j * dim + k], 2);
      d[i * m + j] = std::sqrt(sum);
    }
}

// solution
constexpr int T = 16;

__global__ void distances(const float* a, const float* b, float* d, int n, int m, int dim) {
  __shared__ float left[T][T + 1], right[T][T + 1];
  int i = blockIdx.y * T + threadIdx.y;
  int j = blockIdx.x * T + threadIdx.x;
  int load_j = blockIdx.x * T + threadIdx.y;
  float sum = 0.0f;
  for (int first = 0; first < dim; first += T) {
    int k = first + threadIdx.x;
    left[threadIdx.y][threadIdx.x] = i < n && k < dim ? a[i * dim + k] : 0.0f;
    right[threadIdx.y][threadIdx.x] = load_j < m && k < dim ? b[load_j * dim + k] : 0.0f;
    __syncthreads();
    for (int p = 0; p < T; ++p) {
      float difference = left[threadIdx.y][p] - right[threadIdx.x][p];
      sum += difference * difference;
    }
    __syncthreads();  // tile used
  }
  if (i < n && j < m) d[i * m + j] = sqrtf(sum);
}

void solve(const float* a, const float* b, float* d, int n, int m, int dim) {
  distances<<<dim3((m + T - 1) / T, (n + T - 1) / T), dim3(T, T)>>>(a, b, d, n, m, dim);
}
