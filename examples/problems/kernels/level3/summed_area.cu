/*
Summed-area table of an image: `s[r][c]` is the sum of all `x[i][j]` with i <= r and j <= c.

in x int32 [height, width] integers 0 255
out s int32 [height, width]
sizes height,width = 1,1 5,3 33,40 70,257
benchmark 256,256
wrong wrong_answer|no_output: sum_columns<<<(width + 63) / 64, 64>>>(s, height, width); =>
wrong wrong_answer: carry = __shfl_sync(0xffffffff, v, 31); =>
*/
void reference(const int* x, int* s, int height, int width) {
  for (int r = 0; r < height; ++r) {
    int sum = 0;
    for (int c = 0; c < width; ++c) {
      sum += x[r * width + c];
      s[r * width + c] = sum + (r > 0 ? s[(r - 1) * width + c] : 0);
    }
  }
}

// solution
// A warp a row, 32 elements at a time.
__global__ void scan_rows(const int* x, int* s, int width) {
  const int lane = threadIdx.x;
  int carry = 0;
  for (int first = 0; first < width; first += 32) {
    int c = first + lane;
    int v = c < width ? x[blockIdx.x * width + c] : 0;
    for (int step = 1; step < 32; step *= 2) {
      int left = __shfl_up_sync(0xffffffff, v, step);
      if (lane >= step) v += left;
    }
    v += carry;
    carry = __shfl_sync(0xffffffff, v, 31);
    if (c < width) s[blockIdx.x * width + c] = v;
  }
}

__global__ void sum_columns(int* s, int height, int width) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= width) return;
  int sum = 0;
  for (int r = 0; r < height; ++r) s[r * width + c] = sum += s[r * width + c];
}

void solve(const int* x, int* s, int height, int width) {
  scan_rows<<<height, 32>>>(x, s, width);
  sum_columns<<<(width + 63) / 64, 64>>>(s, height, width);
}
