/*
Scale and add in place: `y[i] = a * x[i] + y[i]`.

scalar a float32 uniform 0.5 3
in x float32 [n]
inout y float32 [n]
sizes n = 0 1 3 4 1023 20001
benchmark 262144
tolerance 1e-4
wrong wrong_answer: if (i < n % 4) => if (i < n % 4 - 1)
wrong out_of_bounds: i < n / 4 => i < (n + 3) / 4
*/
void reference(float a, const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = double(a) * x[i] + y[i];
}

// solution
#include <cuda_runtime.h>

// Four elements a thread with 16-byte loads; up to three remain for the first threads.
__global__ void saxpy_kernel(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    float4 u = reinterpret_cast<const float4*>(x)[i];
    float4 v = reinterpret_cast<float4*>(y)[i];
    v.x += a * u.x;
    v.y += a * u.y;
    v.z += a * u.z;
    v.w += a * u.w;
    reinterpret_cast<float4*>(y)[i] = v;
  }
  if (i < n % 4) {
    int at = n / 4 * 4 + i;
    y[at] += a * x[at];
  }
}

void solve(float a, const float* x, float* y, int n) {
  if (n == 0) return;
  saxpy_kernel<<<(n / 4 + 255) / 256 + 1, 256>>>(a, x, y, n);
}
