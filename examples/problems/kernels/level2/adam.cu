/*
One step of the Adam optimiser, in place, for every parameter w with gradient g and moments m and v (v is not negative):
`m = 0.9 * m + 0.1 * g`, `v = 0.999 * v + 0.001 * g * g`, and then `w = w - rate * (m / c1) / (sqrt(v / c2) + 1e-8)`, where
`c1 = 1 - 0.9^step` and `c2 = 1 - 0.999^step`. step is at least 1.

inout w float32 [n]
inout m float32 [n] normal 0 0.5
inout v float32 [n] uniform 0 1
in g float32 [n]
scalar rate float32 uniform 0.1 0.5
scalar step int32 integers 1 50
sizes n = 1 100 1025 8000
benchmark 65536
tolerance 1e-3
wrong wrong_answer: rate * (m1 / c1) => rate * m1
wrong wrong_answer: v[i] = v1; =>
*/
#include <cmath>

void reference(float* w, float* m, float* v, const float* g, float rate, int step, int n) {
  const double c1 = 1 - std::pow(0.9, step), c2 = 1 - std::pow(0.999, step);
  for (int i = 0; i < n; ++i) {
    const double m1 = 0.9 * m[i] + 0.1 * g[i], v1 = 0.999 * v[i] + 0.001 * g[i] * g[i];
    w[i] -= rate * (m1 / c1) / (std::sqrt(v1 / c2) + 1e-8);
    m[i] = m1;
    v[i] = v1;
  }
}

// solution
#include <cmath>

__global__ void adam(float* w, float* m, float* v, const float* g, float rate, float c1, float c2, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float gradient = g[i];
  float m1 = 0.9f * m[i] + 0.1f * gradient;
  float v1 = 0.999f * v[i] + 0.001f * gradient * gradient;
  m[i] = m1;
  v[i] = v1;
  w[i] -= rate * (m1 / c1) / (sqrtf(v1 / c2) + 1e-8f);
}

void solve(float* w, float* m, float* v, const float* g, float rate, int step, int n) {
  float c1 = 1.0 - std::pow(0.9, step);
  float c2 = 1.0 - std::pow(0.999, step);
  adam<<<(n + 255) / 256, 256>>>(w, m, v, g, rate, c1, c2, n);
}
