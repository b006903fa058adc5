/*
Transpose a matrix: `y[c][r] = x[r][c]`, where x has rows x cols and y has cols x rows elements.

in x float32 [rows, cols]
out y float32 [cols, rows]
sizes rows,cols = 1,1 1,50 32,32 33,70 129,31
benchmark 384,512
tolerance 1e-6
wrong race|wrong_answer|nondeterministic: __syncthreads(); => __syncwarp();
wrong wrong_answer|nonfinite|out_of_bounds|race: x = blockIdx.y * kTile + threadIdx.x => x = blockIdx.x * kTile + threadIdx.x
*/
void reference(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) y[c * rows + r] = x[r * cols + c];
}

// solution
constexpr int kTile = 32;
constexpr int kStep = 8;

// Rows are read and rows are written, both coalesced; the padding avoids bank conflicts.
__global__ void transpose_kernel(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kStep)
    if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kStep)
    if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

void solve(const float* x, float* y, int rows, int cols) {
  dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_kernel<<<grid, dim3(kTile, kStep)>>>(x, y, rows, cols);
}
