/*
Convolution, batch normalisation with given statistics, and ReLU in one. The input has `channels` planes of height x width,
the filters are [filters, channels, 3, 3] (not flipped), with zero padding of one pixel and stride 1, so every result
plane has the size of an input plane. With `s` the convolution's result in filter f:
`y = max(0, (s - mean[f]) / sqrt(variance[f] + 1e-5) * gamma[f] + beta[f])`.

in x float32 [channels, height, width]
in w float32 [filters, channels, 3, 3] normal 0 0.3
in mean float32 [filters] normal 0 0.5
in variance float32 [filters] uniform 0.5 2
in gamma float32 [filters] uniform 0.5 2
in beta float32 [filters]
out y float32 [filters, height, width]
sizes channels,height,width,filters = 1,1,1,1 3,5,9,2 2,17,18,5 4,8,33,3
benchmark 4,32,32,8
tolerance 1e-3
wrong wrong_answer: fmaxf(0.0f, s * scale + shift) => s * scale + shift
wrong wrong_answer: beta[f] - mean[f] * scale => beta[f]
*/
#include <algorithm>
#include <cmath>

void reference(const float* x, const float* w, const float* mean, const float* variance, const float* gamma,
               const float* beta, float* y, int channels, int height, int width, int filters) {
  for (int f = 0; f < filters; ++f)
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c) {
        double s = 0;
        for (int p = 0; p < channels; ++p)
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
              const int v = r + i - 1, u = c + j - 1;
              if (v >= 0 && v < height && u >= 0 && u < width)
                s += double(w[((f * channels + p) * 3 + i) * 3 + j]) * x[(p * height + v) * width + u];
            }
        s = (s - mean[f]) / std::sqrt(variance[f] + 1e-5) * gamma[f] + beta[f];
        y[(f * height + r) * width + c] = std::max(s, 0.0);
      }
}

// solution
#define TILE 16

// A block a tile of one filter's plane; one input plane after the other comes to shared memory, with its halo.
__global__ void conv_bn_relu(const float* x, const float* w, const float* mean, const float* variance,
                             const float* gamma, const float* beta, float* y, int channels, int height,
                             int width) {
  __shared__ float tile[TILE + 2][TILE + 2];
  __shared__ float filter[9];
  int f = blockIdx.z;
  int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
  int thread = threadIdx.y * TILE + threadIdx.x;
  float s = 0.0f;
  for (int p = 0; p < channels; ++p) {
    if (thread < 9) filter[thread] = w[(f * channels + p) * 9 + thread];
    for (int at = thread; at < (TILE + 2) * (TILE + 2); at += TILE * TILE) {
      int r = top + at / (TILE + 2) - 1, c = left + at % (TILE + 2) - 1;
      bool inside = r >= 0 && r < height && c >= 0 && c < width;
      tile[at / (TILE + 2)][at % (TILE + 2)] = inside ? x[(p * height + r) * width + c] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 3; ++i)
#pragma unroll
      for (int j = 0; j < 3; ++j) s += filter[i * 3 + j] * tile[threadIdx.y + i][threadIdx.x + j];
    __syncthreads();
  }
  int r = top + threadIdx.y, c = left + threadIdx.x;
  if (r < height && c < width) {
    float scale = gamma[f] * rsqrtf(variance[f] + 1e-5f);
    float shift = beta[f] - mean[f] * scale;
    y[(f * height + r) * width + c] = fmaxf(0.0f, s * scale + shift);
  }
}

void solve(const float* x, const float* w, const float* mean, const float* variance, const float* gamma,
           const float* beta, float* y, int channels, int height, int width, int filters) {
  dim3 grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE, filters);
  conv_bn_relu<<<grid, dim3(TILE, TILE)>>>(x, w, mean, variance, gamma, beta, y, channels, height, width);
}
