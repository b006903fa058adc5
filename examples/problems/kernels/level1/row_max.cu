/*
The largest element of each row: `y[r] = max_c x[r][c]`. All values may be negative.

in x float32 [rows, cols] normal -8 2
out y float32 [rows]
sizes rows,cols = 1,1 5,33 17,1000 3,4099
benchmark 256,1024
tolerance 1e-4
wrong wrong_answer: float best = -INFINITY; => float best = 0.0f;
wrong race|wrong_answer|nondeterministic: __syncthreads();  // all partial results are there => // all partial results are there
*/
void reference(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    y[r] = x[r * cols];
    for (int c = 1; c < cols; ++c)
      if (x[r * cols + c] > y[r]) y[r] = x[r * cols + c];
  }
}

// solution
// A block a row: a tree over shared memory.
__global__ void row_max_kernel(const float* x, float* y, int cols) {
  __shared__ float partial[128];
  const float* row = x + blockIdx.x * cols;
  float best = -INFINITY;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) best = fmaxf(best, row[c]);
  partial[threadIdx.x] = best;
  __syncthreads();  // all partial results are there
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = partial[0];
}

void solve(const float* x, float* y, int rows, int cols) {
  row_max_kernel<<<rows, 128>>>(x, y, cols);
}
