/*
Apply a given dropout mask: `y[i] = x[i] / (1 - p)` where `keep[i]` is true, else 0. 0 <= p < 1.

in x float32 [n] normal 1 2
in keep bool [n]
scalar p float32 uniform 0.1 0.6
out y float32 [n]
sizes n = 1 7 1024 9999
benchmark 262144
tolerance 1e-4
wrong wrong_answer: 1.0f / (1.0f - p) => 1.0f / p
wrong wrong_answer: keep[i] ? x[i] * scale : 0.0f => x[i] * scale
*/
void reference(const float* x, const bool* keep, float p, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = keep[i] ? x[i] / (1.0 - p) : 0.0;
}

// solution
__global__ void dropout(const float* x, const bool* keep, float scale, float* y, int n) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    y[i] = keep[i] ? x[i] * scale : 0.0f;
}

void solve(const float* x, const bool* keep, float p, float* y, int n) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  dropout<<<8, 256, 0, stream>>>(x, keep, 1.0f / (1.0f - p), y, n);
  cudaStreamDestroy(stream);
}
