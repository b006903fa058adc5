/*
Add an outer product to a matrix, in place: `A[i][j] += alpha * u[i] * v[j]`.

inout A float32 [m, n]
scalar alpha float32 uniform 1 2
in u float32 [m]
in v float32 [n]
sizes m,n = 1,1 3,100 65,33 200,7
benchmark 256,512
tolerance 1e-4
wrong wrong_answer: A[i * n + j] += => A[i * n + j] =
wrong out_of_bounds|wrong_answer|race|nondeterministic: i < m && j < n => i < m
*/
void reference(float* A, float alpha, const float* u, const float* v, int m, int n) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) A[i * n + j] += double(alpha) * u[i] * v[j];
}

// solution
__global__ void rank_one_update(float* A, float alpha, const float* u, const float* v, int m, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n) A[i * n + j] += alpha * u[i] * v[j];
}

void solve(float* A, float alpha, const float* u, const float* v, int m, int n) {
  dim3 block(32, 8);
  dim3 grid((n + 31) / 32, (m + 7) / 8);
  rank_one_update<<<grid, block>>>(A, alpha, u, v, m, n);
}
