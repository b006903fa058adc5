/*
Matrix times vector: `y[r] = sum_c A[r][c] * x[c]`.

in A float32 [rows, cols]
in x float32 [cols]
out y float32 [rows]
sizes rows,cols = 1,1 3,64 65,31 10,1027
benchmark 256,512
tolerance 1e-4
wrong out_of_bounds|wrong_answer: if (warp >= rows) return; => if (warp > rows) return;
wrong wrong_answer: A[warp * cols + c] * x[c] => A[warp * cols + c] * x[lane]
*/
void reference(const float* A, const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < cols; ++c) sum += double(A[r * cols + c]) * x[c];
    y[r] = sum;
  }
}

// solution
__inline__ __device__ float warp_sum(float v) {
  for (int mask = 16; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffff, v, mask);
  return v;
}

__global__ void matvec_kernel(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y,
                              int rows, int cols) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  int lane = threadIdx.x % warpSize;
  if (warp >= rows) return;
  float sum = 0;
  for (int c = lane; c < cols; c += warpSize) sum += A[warp * cols + c] * x[c];
  sum = warp_sum(sum);
  if (lane == 0) y[warp] = sum;
}

void solve(const float* A, const float* x, float* y, int rows, int cols) {
  const int threads = 128;
  const int warps_per_block = threads / 32;
  matvec_kernel<<<(rows + warps_per_block - 1) / warps_per_block, threads>>>(A, x, y, rows, cols);
}
