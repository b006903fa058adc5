/*
The exact GELU activation: `y[i] = x[i] * P(x[i])`, where `P(t) = (1 + erf(t / sqrt(2))) / 2` is the cumulative normal
distribution. Do not use the approximation with tanh: it is not accurate enough.

in x float32 [n] uniform -4 4
out y float32 [n]
sizes n = 1 31 1024 5000
benchmark 262144
tolerance 1e-5
wrong wrong_answer: 0.5f * v * (1.0f + erff(v * 0.70710678f)) => 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)))
wrong nonfinite: i += blockDim.x * gridDim.x => i += n
*/
#include <cmath>

void reference(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0)));
}

// solution
__device__ __forceinline__ float gelu(float v) {
  return 0.5f * v * (1.0f + erff(v * 0.70710678f));
}

// A fixed grid; each thread takes every (grid size)-th element.
__global__ void gelu_kernel(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = gelu(x[i]);
}

void solve(const float* x, float* y, int n) {
  int blocks = min(16, (n + 127) / 128);
  gelu_kernel<<<blocks, 128>>>(x, y, n);
}
