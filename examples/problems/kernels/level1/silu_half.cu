/*
SiLU in half precision: `y[i] = x[i] / (1 + exp(-x[i]))`. Compute in float and round once when storing.

in x float16 [n] uniform -6 6
out y float16 [n]
sizes n = 1 2 333 2048 7777
benchmark 262144
tolerance 1e-2
wrong wrong_answer: -v.y => v.y
wrong nonfinite|no_output: if (i == 0 && n % 2) => if (i == 0 && n % 2 > 1)
*/
#include <cmath>

void reference(const __half* x, __half* y, int n) {
  for (int i = 0; i < n; ++i) {
    double v = float(x[i]);
    y[i] = float(v / (1 + std::exp(-v)));
  }
}

// solution
#include <cuda_fp16.h>

// Two elements a thread; the first thread also does the odd one at the end.
__global__ void silu_kernel(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) {
    float2 v = __half22float2(reinterpret_cast<const __half2*>(x)[i]);
    v.x = v.x / (1.0f + __expf(-v.x));
    v.y = v.y / (1.0f + __expf(-v.y));
    reinterpret_cast<__half2*>(y)[i] = __float22half2_rn(v);
  }
  if (i == 0 && n % 2) {
    float last = __half2float(x[n - 1]);
    y[n - 1] = __float2half(last / (1.0f + __expf(-last)));
  }
}

extern "C" void solve(const __half* x, __half* y, int n) {
  int threads = 256;
  int blocks = max(1, (n / 2 + threads - 1) / threads);
  silu_kernel<<<blocks, threads>>>(x, y, n);
}
