/*
Softmax of every row: `y[r][c] = exp(x[r][c] - M) / sum_j exp(x[r][j] - M)`, with M the largest element of row r.
Elements may be so large that exp(x[r][c]) without the subtraction overflows.

in x float32 [rows, cols] normal 60 40
out y float32 [rows, cols]
sizes rows,cols = 1,1 6,5 3,1024 19,777
benchmark 64,512
tolerance 1e-5
wrong nonfinite: __expf(row[c] - m) => __expf(row[c])
wrong race|wrong_answer|nondeterministic: __syncthreads();  // warp results are complete => // warp results are complete
*/
#include <cmath>

void reference(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double largest = x[r * cols], sum = 0;
    for (int c = 0; c < cols; ++c) largest = std::fmax(largest, x[r * cols + c]);
    for (int c = 0; c < cols; ++c) sum += std::exp(x[r * cols + c] - largest);
    for (int c = 0; c < cols; ++c) y[r * cols + c] = std::exp(x[r * cols + c] - largest) / sum;
  }
}

// solution
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// Combines a value of every thread; all threads get the result. The block is a multiple of the warp.
template <typename Op>
__device__ float block_reduce(float v, Op op, float neutral) {
  __shared__ float warps[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int d = 16; d; d >>= 1) v = op(v, __shfl_xor_sync(0xffffffff, v, d));
  if (lane == 0) warps[warp] = v;
  __syncthreads();  // warp results are complete
  v = lane < blockDim.x / 32 ? warps[lane] : neutral;
  for (int d = 16; d; d >>= 1) v = op(v, __shfl_xor_sync(0xffffffff, v, d));
  __syncthreads();  // before the array is used again
  return v;
}

__global__ void softmax_kernel(const float* x, float* y, int cols) {
  const float* row = x + blockIdx.x * cols;
  float m = -INFINITY;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, row[c]);
  m = block_reduce(m, Max(), -INFINITY);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(row[c] - m);
  sum = block_reduce(sum, Add(), 0.0f);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = __expf(row[c] - m) / sum;
}

void solve(const float* x, float* y, int rows, int cols) {
  softmax_kernel<<<rows, 256>>>(x, y, cols);
}
