/*
ReLU: `y[i] = max(x[i], 0)` for all i in 0..n-1.

in x float32 [n] normal 0 2
out y float32 [n]
sizes n = 0 1 255 1000 4097
benchmark 262144
tolerance 1e-4
wrong wrong_answer: fmaxf(x[i], 0.0f) => fabsf(x[i])
wrong out_of_bounds: i < n => i <= n
*/
void reference(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

// solution
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

void solve(const float* x, float* y, int n) {
  const int threads = 256;
  relu_kernel<<<(n + threads - 1) / threads, threads>>>(x, y, n);
}
