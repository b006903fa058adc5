/*
Root-mean-square normalisation in half precision: `y[r][c] = x[r][c] / sqrt(mean_j x[r][j]^2 + 1e-6) * weight[c]`.
Squares are summed and the result is computed in float; some squares are too large for half precision.

in x float16 [rows, cols] normal 0 200
in weight float16 [cols] uniform 0.5 1.5
out y float16 [rows, cols]
sizes rows,cols = 1,1 3,65 10,512 4,1500
benchmark 128,1024
tolerance 1e-2
wrong nonfinite|wrong_answer: sum += v * v; => sum += __half2float(__float2half(v * v));
wrong wrong_answer: total / cols + 1e-6f => total + 1e-6f
*/
#include <cmath>

void reference(const __half* x, const __half* weight, __half* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    for (int c = 0; c < cols; ++c) squares += double(float(x[r * cols + c])) * float(x[r * cols + c]);
    for (int c = 0; c < cols; ++c)
      y[r * cols + c] = float(float(x[r * cols + c]) / std::sqrt(squares / cols + 1e-6) * float(weight[c]));
  }
}

// solution
#include <cuda_fp16.h>

__global__ void rms_norm(const half* x, const half* weight, half* y, int cols) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  const half* row = x + blockIdx.x * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    float v = __half2float(row[c]);
    sum += v * v;
  }
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if ((threadIdx.x & 31) == 0) atomicAdd(&total, sum);
  __syncthreads();
  float scale = rsqrtf(total / cols + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[blockIdx.x * cols + c] = __float2half(__half2float(row[c]) * scale * __half2float(weight[c]));
}

void solve(const half* x, const half* weight, half* y, int rows, int cols) {
  rms_norm<<<rows, 256>>>(x, weight, y, cols);
}
