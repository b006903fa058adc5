/*
Cholesky factors of many small matrices. From each n x n matrix M of the batch form the symmetric, positive definite matrix
`A = M M^T + n * I` and factor it as `A = L L^T` with L lower triangular and a positive diagonal. Write L with zeros above
the diagonal. n is at most 32.

in M float32 [batch, n, n] uniform -1 1
out L float32 [batch, n, n]
sizes batch,n = 1,1 5,3 4,17 3,32
benchmark 64,24
tolerance 1e-3
wrong wrong_answer: (r == c ? n : 0) => (r == c ? 1 : 0)
wrong race|wrong_answer|nondeterministic: __syncthreads();  // column j is ready => // column j is ready
*/
#include <cmath>
#include <vector>

void reference(const float* M, float* L, int batch, int n) {
  for (int b = 0; b < batch; ++b, M += n * n, L += n * n) {
    std::vector<double> f(n * n);
    for (int r = 0; r < n; ++r)
      for (int c = 0; c <= r; ++c) {
        double sum = r == c ? n : 0;
        for (int k = 0; k < n; ++k) sum += double(M[r * n + k]) * M[c * n + k];
        for (int k = 0; k < c; ++k) sum -= f[r * n + k] * f[c * n + k];
        f[r * n + c] = r == c ? std::sqrt(sum) : sum / f[c * n + c];
        L[r * n + c] = f[r * n + c];
      }
  }
}

// solution
#define MAX_N 32

// A block a matrix, right-looking: finish column j, then take its outer product from what remains.
__global__ void cholesky(const float* M, float* L, int n) {
  __shared__ float a[MAX_N][MAX_N + 1];
  const float* m = M + blockIdx.x * n * n;
  int c = threadIdx.x;
  for (int r = threadIdx.y; r < n; r += blockDim.y) {
    if (c >= n) continue;
    float sum = (r == c ? n : 0);
    for (int k = 0; k < n; ++k) sum += m[r * n + k] * m[c * n + k];
    a[r][c] = sum;
  }
  __syncthreads();
  for (int j = 0; j < n; ++j) {
    if (c == 0 && threadIdx.y == 0) a[j][j] = sqrtf(a[j][j]);
    __syncthreads();
    if (threadIdx.y == 0 && c > j && c < n) a[c][j] /= a[j][j];
    __syncthreads();  // column j is ready
    for (int r = j + 1 + threadIdx.y; r < n; r += blockDim.y)
      if (c > j && c <= r) a[r][c] -= a[r][j] * a[c][j];
    __syncthreads();
  }
  for (int r = threadIdx.y; r < n; r += blockDim.y)
    if (c < n) L[(blockIdx.x * n + r) * n + c] = c <= r ? a[r][c] : 0.0f;
}

void solve(const float* M, float* L, int batch, int n) {
  cholesky<<<batch, dim3(32, 4)>>>(M, L, n);
}
