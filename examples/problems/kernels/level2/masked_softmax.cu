/*
Softmax of every row over the elements that the mask allows: where `mask[r][c]` is true,
`y[r][c] = exp(x[r][c]) / sum_j exp(x[r][j])`, the sum over all j with `mask[r][j]` true; elsewhere `y[r][c] = 0`.
A row whose mask is false everywhere gives zeros. Subtract the row's largest allowed element, exp may overflow.

in x float32 [rows, cols] normal 0 50
in mask bool [rows, cols] choice 0 0 1
out y float32 [rows, cols]
sizes rows,cols = 40,1 30,4 9,100 3,1025
benchmark 128,512
tolerance 1e-4
wrong wrong_answer|nonfinite: mask[at] ? p : 0.0f => p
wrong wrong_answer: if (mask[r * cols + c]) largest = => largest =
*/
#include <cmath>

void reference(const float* x, const bool* mask, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double largest = -INFINITY, sum = 0;
    for (int c = 0; c < cols; ++c)
      if (mask[r * cols + c]) largest = std::fmax(largest, x[r * cols + c]);
    for (int c = 0; c < cols; ++c)
      if (mask[r * cols + c]) sum += std::exp(x[r * cols + c] - largest);
    for (int c = 0; c < cols; ++c)
      y[r * cols + c] = mask[r * cols + c] ? std::exp(x[r * cols + c] - largest) / sum : 0;
  }
}

// solution
__global__ void masked_softmax(const float* x, const bool* mask, float* y, int rows, int cols) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (r >= rows) return;
  float largest = -INFINITY;
  for (int c = lane; c < cols; c += 32)
    if (mask[r * cols + c]) largest = fmaxf(largest, x[r * cols + c]);
  for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, d));
  float sum = 0.0f;
  for (int c = lane; c < cols; c += 32)
    if (mask[r * cols + c]) sum += __expf(x[r * cols + c] - largest);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  for (int c = lane; c < cols; c += 32) {
    int at = r * cols + c;
    float p = sum > 0.0f ? __expf(x[at] - largest) / sum : 0.0f;
    y[at] = mask[at] ? p : 0.0f;
  }
}

void solve(const float* x, const bool* mask, float* y, int rows, int cols) {
  masked_softmax<<<(rows + 3) / 4, 128>>>(x, mask, y, rows, cols);
}
