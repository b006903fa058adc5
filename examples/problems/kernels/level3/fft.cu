/*
Discrete Fourier transform of each row. A row has n complex numbers, real and imaginary part next to each other; n is a power
of two, from 1 to 1024. `Y[r][k] = sum_j X[r][j] * exp(-2 pi i j k / n)` for k = 0..n-1, without scaling.

in X float32 [rows, n, 2]
out Y float32 [rows, n, 2]
sizes rows,n = 1,1 5,2 3,64 2,512
benchmark 8,512
tolerance 2e-3
wrong wrong_answer: -6.283185307f * k => 6.283185307f * k
wrong wrong_answer: __brev(j) >> (32 - bits) => (unsigned)j
*/
#include <cmath>

void reference(const float* X, float* Y, int rows, int n) {
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < n; ++k) {
      double re = 0, im = 0;
      for (int j = 0; j < n; ++j) {
        const double angle = -2 * M_PI * (double(j) * k) / n, a = X[2 * (r * n + j)],
                     b = X[2 * (r * n + j) + 1];
        re += a * std::cos(angle) - b * std::sin(angle);
        im += a * std::sin(angle) + b * std::cos(angle);
      }
      Y[2 * (r * n + k)] = re;
      Y[2 * (r * n + k) + 1] = im;
    }
}

// solution
// A block a row: load in bit-reversed order, then log2(n) stages of butterflies in shared memory.
__global__ void fft_rows(const float2* X, float2* Y, int n, int bits) {
  extern __shared__ float2 line[];
  X += blockIdx.x * n;
  Y += blockIdx.x * n;
  for (int j = threadIdx.x; j < n; j += blockDim.x) {
    unsigned from = bits > 0 ? __brev(j) >> (32 - bits) : 0;
    line[j] = X[from];
  }
  __syncthreads();
  for (int half = 1; half < n; half *= 2) {
    for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
      int k = t % half;
      int low = t / half * 2 * half + k;
      float s, c;
      sincosf(-6.283185307f * k / (2 * half), &s, &c);
      float2 u = line[low], v = line[low + half];
      float2 w = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
      line[low] = make_float2(u.x + w.x, u.y + w.y);
      line[low + half] = make_float2(u.x - w.x, u.y - w.y);
    }
    __syncthreads();
  }
  for (int j = threadIdx.x; j < n; j += blockDim.x) Y[j] = line[j];
}

void solve(const float* X, float* Y, int rows, int n) {
  int bits = 0;
  while (1 << bits < n) ++bits;
  fft_rows<<<rows, 128, n * sizeof(float2)>>>((const float2*)X, (float2*)Y, n, bits);
}
