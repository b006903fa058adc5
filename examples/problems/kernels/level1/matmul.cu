/*
Multiply two matrices: `C = A B`, with A of m x k, B of k x n and C of m x n elements, all row-major.

in A float32 [m, k]
in B float32 [k, n]
out C float32 [m, n]
sizes m,n,k = 1,1,1 16,16,16 33,17,65 5,100,1 64,48,30
benchmark 96,96,96
tolerance 1e-4
wrong race|wrong_answer|nondeterministic: __syncthreads();  // before the tiles are replaced => // before the tiles are replaced
wrong wrong_answer|out_of_bounds: (k + TILE - 1) / TILE => k / TILE + (k < TILE)
*/
void reference(const float* A, const float* B, float* C, int m, int n, int k) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int p = 0; p < k; ++p) sum += double(A[i * k + p]) * B[p * n + j];
      C[i * n + j] = sum;
    }
}

// solution
#define TILE 16

__global__ void matmul_kernel(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ float a[TILE][TILE];
  __shared__ float b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
    int a_col = t * TILE + threadIdx.x;
    int b_row = t * TILE + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < m && a_col < k ? A[row * k + a_col] : 0.0f;
    b[threadIdx.y][threadIdx.x] = b_row < k && col < n ? B[b_row * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < TILE; ++p) sum += a[threadIdx.y][p] * b[p][threadIdx.x];
    __syncthreads();  // before the tiles are replaced
  }
  if (row < m && col < n) C[row * n + col] = sum;
}

void solve(const float* A, const float* B, float* C, int m, int n, int k) {
  dim3 block(TILE, TILE);
  dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul_kernel<<<grid, block>>>(A, B, C, m, n, k);
}
