/*
Rotary position embedding, in place. x holds `tokens` x `heads` vectors of `dim` elements (dim is even). In the vector
of token t, the elements d and d + dim/2 form a pair for d in 0..dim/2-1, which is rotated by the angle
`a = position[t] * 10000^(-2 d / dim)`: `(u, v)` becomes `(u cos a - v sin a, u sin a + v cos a)`.

inout x float32 [tokens, heads, dim]
in position int32 [tokens] integers 0 500
sizes tokens,heads,dim = 1,1,2 3,2,8 17,3,64 5,1,30
benchmark 128,8,64
tolerance 1e-3
wrong wrong_answer: row[d + half] = u * s + v * c; => row[d + half] = row[d] * s + v * c;
wrong wrong_answer: -2.0f * d / dim => -1.0f * d / dim
*/
#include <cmath>

void reference(float* x, const int* position, int tokens, int heads, int dim) {
  for (int t = 0; t < tokens; ++t)
    for (int h = 0; h < heads; ++h)
      for (int d = 0; d < dim / 2; ++d) {
        float* pair = x + (t * heads + h) * dim + d;
        const double angle = position[t] * std::pow(10000.0, -2.0 * d / dim), u = pair[0], v = pair[dim / 2];
        pair[0] = u * std::cos(angle) - v * std::sin(angle);
        pair[dim / 2] = u * std::sin(angle) + v * std::cos(angle);
      }
}

// solution
__global__ void rope(float* x, const int* position, int heads, int dim) {
  int t = blockIdx.x, h = threadIdx.y;
  int half = dim / 2;
  float* row = x + (t * heads + h) * dim;
  for (int d = threadIdx.x; d < half; d += blockDim.x) {
    float angle = position[t] * powf(10000.0f, -2.0f * d / dim);
    float s, c;
    sincosf(angle, &s, &c);
    float u = row[d], v = row[d + half];
    row[d] = u * c - v * s;
    row[d + half] = u * s + v * c;
  }
}

void solve(float* x, const int* position, int tokens, int heads, int dim) {
  rope<<<tokens, dim3(32, heads)>>>(x, position, heads, dim);
}
