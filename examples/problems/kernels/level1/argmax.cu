/*
The column of the largest element of each row: `index[r]` is the smallest c for which `x[r][c]` is the maximum of row r.
Rows contain equal values often, so take care that the first of them wins.

in x float32 [rows, cols] integers 0 50
out index int32 [rows]
sizes rows,cols = 1,1 4,31 9,513 40,1200
benchmark 256,1024
wrong wrong_answer: other_at < at => other_at > at
wrong wrong_answer: c += 32) => c += 33)
*/
void reference(const float* x, int* index, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    int best = 0;
    for (int c = 1; c < cols; ++c)
      if (x[r * cols + c] > x[r * cols + best]) best = c;
    index[r] = best;
  }
}

// solution
// A warp a row; value and place travel together.
__global__ void argmax_kernel(const float* x, int* index, int rows, int cols) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float best = -INFINITY;
  int at = cols;
  for (int c = threadIdx.x; c < cols; c += 32) {
    float v = x[row * cols + c];
    if (v > best) {
      best = v;
      at = c;
    }
  }
  for (int step = 16; step; step >>= 1) {
    float other = __shfl_xor_sync(0xffffffffu, best, step);
    int other_at = __shfl_xor_sync(0xffffffffu, at, step);
    if (other > best || (other == best && other_at < at)) {
      best = other;
      at = other_at;
    }
  }
  if (threadIdx.x == 0) index[row] = at;
}

void solve(const float* x, int* index, int rows, int cols) {
  dim3 block(32, 4);
  argmax_kernel<<<(rows + 3) / 4, block>>>(x, index, rows, cols);
}
