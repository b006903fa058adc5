/*
Resize a grey image with bilinear interpolation, pixel centres aligned at halves. The pixel (r, c) of the result is taken
at `v = (r + 0.5) * h / H - 0.5` and `u = (c + 0.5) * w / W - 0.5`, both clamped to 0..h-1 and 0..w-1. With r0 and c0
the integer parts of v and u, `r1 = min(r0 + 1, h - 1)`, `c1 = min(c0 + 1, w - 1)`, `a = v - r0` and `b = u - c0`, it is
`(1-a) * ((1-b) * x[r0][c0] + b * x[r0][c1]) + a * ((1-b) * x[r1][c0] + b * x[r1][c1])`.

in x float32 [h, w] uniform 0 1
out y float32 [H, W]
sizes h,w,H,W = 1,1,3,2 5,7,10,14 30,20,11,13 9,33,40,33
benchmark 128,128,256,256
tolerance 1e-3
wrong wrong_answer: (r + 0.5f) * h / H - 0.5f => (float)r * h / H
wrong wrong_answer|out_of_bounds: min(c0 + 1, w - 1) => c0 + 1
*/
#include <algorithm>

void reference(const float* x, float* y, int h, int w, int H, int W) {
  for (int r = 0; r < H; ++r)
    for (int c = 0; c < W; ++c) {
      const double v = std::clamp((r + 0.5) * h / H - 0.5, 0.0, h - 1.0);
      const double u = std::clamp((c + 0.5) * w / W - 0.5, 0.0, w - 1.0);
      const int r0 = v, c0 = u, r1 = std::min(r0 + 1, h - 1), c1 = std::min(c0 + 1, w - 1);
      const double a = v - r0, b = u - c0;
      y[r * W + c] = (1 - a) * ((1 - b) * x[r0 * w + c0] + b * x[r0 * w + c1]) +
                     a * ((1 - b) * x[r1 * w + c0] + b * x[r1 * w + c1]);
    }
}

// solution
__device__ __forceinline__ float lerp_between(float from, float to, float t) {
  return fmaf(t, to - from, from);
}

__global__ void resize(const float* __restrict__ x, float* __restrict__ y, int h, int w, int H, int W) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= W || r >= H) return;
  float v = fminf(fmaxf((r + 0.5f) * h / H - 0.5f, 0.0f), h - 1.0f);
  float u = fminf(fmaxf((c + 0.5f) * w / W - 0.5f, 0.0f), w - 1.0f);
  int r0 = (int)v, c0 = (int)u;
  int r1 = min(r0 + 1, h - 1), c1 = min(c0 + 1, w - 1);
  float b = u - c0;
  float above = lerp_between(x[r0 * w + c0], x[r0 * w + c1], b);
  float below = lerp_between(x[r1 * w + c0], x[r1 * w + c1], b);
  y[r * W + c] = lerp_between(above, below, v - r0);
}

void solve(const float* x, float* y, int h, int w, int H, int W) {
  dim3 block(16, 8);
  resize<<<dim3((W + 15) / 16, (H + 7) / 8), block>>>(x, y, h, w, H, W);
}
