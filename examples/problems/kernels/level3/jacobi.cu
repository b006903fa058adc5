/*
Relax the inside of a rectangular plate: in each of `steps` iterations every inner cell becomes the mean of its four neighbours
(above, below, left, right) from the iteration before; the cells on the border keep their value. x is the start, y the plate
after all iterations. steps may be 0.

in x float32 [height, width] uniform 0 10
scalar steps int32 integers 2 9
out y float32 [height, width]
sizes height,width = 1,1 3,3 5,40 33,34
benchmark 128,128
tolerance 1e-4
wrong wrong_answer: 0.25f * => 0.2f *
wrong race|wrong_answer|nondeterministic: float* target = s % 2 == 0 ? b : a; => float* target = a;
*/
#include <vector>

void reference(const float* x, int steps, float* y, int height, int width) {
  std::vector<double> now(x, x + height * width), next(now);
  for (int s = 0; s < steps; ++s) {
    for (int r = 1; r + 1 < height; ++r)
      for (int c = 1; c + 1 < width; ++c) {
        const int at = r * width + c;
        next[at] = (now[at - width] + now[at + width] + now[at - 1] + now[at + 1]) / 4;
      }
    now.swap(next);
  }
  for (int i = 0; i < height * width; ++i) y[i] = now[i];
}

// solution
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// All iterations in one launch: the whole grid meets after each. The two buffers change roles.
__global__ void jacobi(const float* x, float* a, float* b, int steps, int height, int width) {
  cg::grid_group grid = cg::this_grid();
  int count = height * width;
  for (int i = grid.thread_rank(); i < count; i += grid.size()) a[i] = b[i] = x[i];
  grid.sync();
  for (int s = 0; s < steps; ++s) {
    const float* source = s % 2 == 0 ? a : b;
    float* target = s % 2 == 0 ? b : a;
    for (int i = grid.thread_rank(); i < count; i += grid.size()) {
      int r = i / width, c = i % width;
      if (r > 0 && r < height - 1 && c > 0 && c < width - 1)
        target[i] = 0.25f * (source[i - width] + source[i + width] + source[i - 1] + source[i + 1]);
    }
    grid.sync();
  }
}

void solve(const float* x, int steps, float* y, int height, int width) {
  float* spare;
  cudaMalloc(&spare, height * width * sizeof(float));
  float* a = steps % 2 == 0 ? y : spare;
  float* b = steps % 2 == 0 ? spare : y;
  void* arguments[] = {&x, &a, &b, &steps, &height, &width};
  cudaLaunchCooperativeKernel((void*)jacobi, dim3(4), dim3(128), arguments);
  cudaDeviceSynchronize();
  cudaFree(spare);
}
