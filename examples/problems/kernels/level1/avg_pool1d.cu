/*
Moving average over each row: a window of k elements (k odd) is centred on every position; positions outside the row are
not counted, neither in the sum nor in the number of elements: `y[r][c]` is the mean of the `x[r][j]` with
`|j - c| <= k / 2` and `0 <= j < cols`.

in x float32 [rows, cols] uniform -1 3
out y float32 [rows, cols]
sizes rows,cols,k = 1,1,3 4,10,1 7,65,5 3,301,25
benchmark 64,1024,7
tolerance 1e-4
wrong wrong_answer: / (last - first + 1) => / k
wrong out_of_bounds|wrong_answer: min(cols - 1, c + k / 2) => min(cols, c + k / 2)
*/
void reference(const float* x, float* y, int rows, int cols, int k) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      double sum = 0;
      int count = 0;
      for (int j = c - k / 2; j <= c + k / 2; ++j)
        if (j >= 0 && j < cols) {
          sum += x[r * cols + j];
          ++count;
        }
      y[r * cols + c] = sum / count;
    }
}

// solution
__global__ void moving_average(const float* x, float* y, int cols, int k) {
  const float* row = x + (size_t)blockIdx.y * cols;
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  int first = max(0, c - k / 2);
  int last = min(cols - 1, c + k / 2);
  float sum = 0;
  for (int j = first; j <= last; ++j) sum += row[j];
  y[(size_t)blockIdx.y * cols + c] = sum / (last - first + 1);
}

void solve(const float* x, float* y, int rows, int cols, int k) {
  moving_average<<<dim3((cols + 127) / 128, rows), 128>>>(x, y, cols, k);
}
