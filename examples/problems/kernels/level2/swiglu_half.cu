/*
Gated activation: each row of x has 2 * width elements, the first half are gates g, the second half values u:
`y[r][c] = g / (1 + exp(-g)) * u` with `g = x[r][c]` and `u = x[r][width + c]`. Compute in float, store half.

in x float16 [rows, 2*width] uniform -4 4
out y float16 [rows, width]
sizes rows,width = 1,1 3,64 7,333 50,10
benchmark 128,1024
tolerance 1e-2
wrong wrong_answer: row[width + c] => row[c + 1]
wrong wrong_answer: 1.0f + __expf(-g) => 1.0f + __expf(g)
*/
#include <cmath>

void reference(const __half* x, __half* y, int rows, int width) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < width; ++c) {
      const double g = float(x[r * 2 * width + c]), u = float(x[r * 2 * width + width + c]);
      y[r * width + c] = float(g / (1 + std::exp(-g)) * u);
    }
}

// solution
#include <cuda_fp16.h>

__global__ void swiglu(const __half* __restrict__ x, __half* __restrict__ y, int width) {
  const __half* row = x + (long long)blockIdx.x * 2 * width;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    float g = __half2float(row[c]);
    float u = __half2float(row[width + c]);
    y[(long long)blockIdx.x * width + c] = __float2half_rn(__fdividef(g, 1.0f + __expf(-g)) * u);
  }
}

void solve(const __half* x, __half* y, int rows, int width) {
  swiglu<<<rows, 128>>>(x, y, width);
}
