/*
Layer normalisation of every row: with the mean and the (biased) variance of the row,
`y[r][c] = (x[r][c] - mean) / sqrt(variance + 1e-5) * gamma[c] + beta[c]`.
The mean of a row may be much larger than its standard deviation.

in x float32 [rows, cols] normal 20 1
in gamma float32 [cols] uniform 0.5 2
in beta float32 [cols]
out y float32 [rows, cols]
sizes rows,cols = 1,2 7,31 33,256 3,1111
benchmark 128,1024
tolerance 1e-3
wrong wrong_answer: rsqrtf(squares / cols + 1e-5f) => rsqrtf(squares / cols + 1.0f)
wrong wrong_answer: float d = row[c] - mean; => float d = row[c];
*/
#include <cmath>

void reference(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int c = 0; c < cols; ++c) mean += x[r * cols + c] / double(cols);
    for (int c = 0; c < cols; ++c) variance += std::pow(x[r * cols + c] - mean, 2) / cols;
    for (int c = 0; c < cols; ++c)
      y[r * cols + c] = (x[r * cols + c] - mean) / std::sqrt(variance + 1e-5) * gamma[c] + beta[c];
  }
}

// solution
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// A warp a row: two passes, so that a large mean does no harm.
__global__ void layer_norm(const float* x, const float* gamma, const float* beta, float* y, int rows,
                           int cols) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int r = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (r >= rows) return;
  const float* row = x + r * cols;
  float sum = 0.0f;
  for (int c = warp.thread_rank(); c < cols; c += warp.size()) sum += row[c];
  float mean = cg::reduce(warp, sum, cg::plus<float>()) / cols;
  float squares = 0.0f;
  for (int c = warp.thread_rank(); c < cols; c += warp.size()) {
    float d = row[c] - mean;
    squares += d * d;
  }
  squares = cg::reduce(warp, squares, cg::plus<float>());
  float scale = rsqrtf(squares / cols + 1e-5f);
  for (int c = warp.thread_rank(); c < cols; c += warp.size())
    y[r * cols + c] = (row[c] - mean) * scale * gamma[c] + beta[c];
}

void solve(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols) {
  layer_norm<<<(rows + 3) / 4, 128>>>(x, gamma, beta, y, rows, cols);
}
