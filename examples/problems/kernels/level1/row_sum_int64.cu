/*
Sum each row of 32-bit integers in 64 bits: `total[r] = sum_c x[r][c]`. Sums do not fit in 32 bits. A row may have no
element (cols = 0); its sum is 0.

in x int32 [rows, cols] integers 1000000000 2000000000
out total int64 [rows]
sizes rows,cols = 1,1 4,0 9,100 3,2050
benchmark 256,1024
wrong wrong_answer: long long sum = 0; => int sum = 0;
wrong wrong_answer: lane + 32 * i => lane + 31 * i
*/
void reference(const int* x, long long* total, int rows, int cols) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) total[r] += x[r * cols + c];
}

// solution
__global__ void row_sum(const int* x, long long* total, int rows, int cols) {
  int lane = threadIdx.x % 32;
  int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (r >= rows) return;
  long long sum = 0;
  for (int i = 0; lane + 32 * i < cols; ++i) sum += x[r * cols + lane + 32 * i];
  for (int step = 1; step < 32; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) total[r] = sum;
}

void solve(const int* x, long long* total, int rows, int cols) {
  row_sum<<<(rows + 7) / 8, 256>>>(x, total, rows, cols);
}
