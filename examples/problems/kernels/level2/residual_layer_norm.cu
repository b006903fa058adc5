/*
The residual step of a transformer: add, keep the sum, and normalise it. For every row,
`sum[r][c] = x[r][c] + residual[r][c]`, and with mean and (biased) variance of the row of `sum`,
`y[r][c] = (sum[r][c] - mean) / sqrt(variance + 1e-5) * gamma[c] + beta[c]`. Both `sum` and `y` are results.

in x float32 [rows, cols]
in residual float32 [rows, cols] normal 1 2
in gamma float32 [cols] uniform 0.5 2
in beta float32 [cols]
out sum float32 [rows, cols]
out y float32 [rows, cols]
sizes rows,cols = 1,2 5,63 9,768 2,2050
benchmark 128,768
tolerance 1e-3
wrong nonfinite: sum[at] = v; =>
wrong wrong_answer: gamma[c] + beta[c] => gamma[c] - beta[c]
*/
#include <cmath>

void reference(const float* x, const float* residual, const float* gamma, const float* beta, float* sum,
               float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int c = 0; c < cols; ++c) {
      const int at = r * cols + c;
      sum[at] = double(x[at]) + residual[at];
      mean += (double(x[at]) + residual[at]) / cols;
    }
    for (int c = 0; c < cols; ++c) variance += std::pow(sum[r * cols + c] - mean, 2) / cols;
    for (int c = 0; c < cols; ++c)
      y[r * cols + c] = (sum[r * cols + c] - mean) / std::sqrt(variance + 1e-5) * gamma[c] + beta[c];
  }
}

// solution
#include <cub/block/block_reduce.cuh>

template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    residual_layer_norm(const float* __restrict__ x, const float* __restrict__ residual,
                        const float* __restrict__ gamma, const float* __restrict__ beta,
                        float* __restrict__ sum, float* __restrict__ y, int cols) {
  typedef cub::BlockReduce<float, THREADS> BlockReduce;
  __shared__ typename BlockReduce::TempStorage storage;
  __shared__ float mean, scale;
  extern __shared__ float row[];
  float total = 0.f;
  for (int c = threadIdx.x; c < cols; c += THREADS) {
    int at = blockIdx.x * cols + c;
    float v = x[at] + residual[at];
    sum[at] = v;
    row[c] = v;
    total += v;
  }
  total = BlockReduce(storage).Sum(total);
  if (threadIdx.x == 0) mean = total / cols;
  __syncthreads();
  float squares = 0.f;
  for (int c = threadIdx.x; c < cols; c += THREADS) squares += (row[c] - mean) * (row[c] - mean);
  squares = BlockReduce(storage).Sum(squares);
  if (threadIdx.x == 0) scale = rsqrtf(squares / cols + 1e-5f);
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += THREADS)
    y[blockIdx.x * cols + c] = (row[c] - mean) * scale * gamma[c] + beta[c];
}

void solve(const float* x, const float* residual, const float* gamma, const float* beta, float* sum, float* y,
           int rows, int cols) {
  residual_layer_norm<128><<<rows, 128, cols * sizeof(float)>>>(x, residual, gamma, beta, sum, y, cols);
}
