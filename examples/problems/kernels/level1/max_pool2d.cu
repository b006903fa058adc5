/*
Max pooling over windows of 2 x 2 with stride 2, for `images` planes of height x width elements. An odd last row or
column is left out: the result has (height / 2) x (width / 2) elements a plane, rounded down. All values may be
negative. height and width are at least 2.

in x float32 [images, height, width] normal -5 1
out y float32 [images, height/2, width/2]
sizes images,height,width = 1,2,2 3,5,7 2,33,18 5,16,31
benchmark 8,128,128
tolerance 1e-6
wrong wrong_answer: -FLT_MAX => 0.0f
wrong wrong_answer|out_of_bounds: (2 * r + i) * width => (2 * r + i) * (width / 2 * 2)
*/
#include <algorithm>

void reference(const float* x, float* y, int images, int height, int width) {
  for (int p = 0; p < images; ++p)
    for (int r = 0; r < height / 2; ++r)
      for (int c = 0; c < width / 2; ++c) {
        const float* at = x + (p * height + 2 * r) * width + 2 * c;
        y[(p * (height / 2) + r) * (width / 2) + c] = std::max({at[0], at[1], at[width], at[width + 1]});
      }
}

// solution
#include <cfloat>

template <int WINDOW>
__global__ void max_pool(const float* x, float* y, int height, int width, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  int out_w = width / WINDOW, out_h = height / WINDOW;
  int c = at % out_w;
  int r = at / out_w % out_h;
  int image = at / (out_w * out_h);
  const float* plane = x + image * height * width;
  float best = -FLT_MAX;
  for (int i = 0; i < WINDOW; ++i)
    for (int j = 0; j < WINDOW; ++j) best = max(best, plane[(2 * r + i) * width + 2 * c + j]);
  y[at] = best;
}

void solve(const float* x, float* y, int images, int height, int width) {
  int count = images * (height / 2) * (width / 2);
  max_pool<2><<<(count + 255) / 256, 256>>>(x, y, height, width, count);
}
