/*
The mean Huber loss of n predictions: with `e = |p[i] - t[i]|`, an element costs `e^2 / 2` where e <= delta, else
`delta * (e - delta / 2)`; `loss[0]` is the mean over all elements.

in p float32 [n] normal 0 2
in t float32 [n] normal 0 2
scalar delta float32 uniform 0.5 1.5
out loss float32 [1]
sizes n = 1 33 1000 20001
benchmark 131072
tolerance 1e-4
wrong wrong_answer: delta * (e - 0.5f * delta) => delta * (e - delta)
wrong wrong_answer|no_output: finished = 0; =>
*/
#include <cmath>

void reference(const float* p, const float* t, float delta, float* loss, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double e = std::fabs(double(p[i]) - t[i]);
    sum += e <= delta ? e * e / 2 : delta * (e - delta / 2.0);
  }
  loss[0] = sum / n;
}

// solution
#define THREADS 128
#define MAX_BLOCKS 32

__device__ float partial[MAX_BLOCKS];
__device__ unsigned int finished;

__device__ float block_sum(float v) {
  __shared__ float s[THREADS];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  float total = s[0];
  __syncthreads();
  return total;
}

// The block that finishes last adds up what all blocks left in `partial`.
__global__ void huber(const float* p, const float* t, float delta, float* loss, int n) {
  __shared__ bool last;
  float sum = 0.0f;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
    float e = fabsf(p[i] - t[i]);
    sum += e <= delta ? 0.5f * e * e : delta * (e - 0.5f * delta);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&finished, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  sum = threadIdx.x < gridDim.x ? ((volatile float*)partial)[threadIdx.x] : 0.0f;
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    *loss = sum / n;
    finished = 0;
  }
}

void solve(const float* p, const float* t, float delta, float* loss, int n) {
  int blocks = min(MAX_BLOCKS, (n + THREADS - 1) / THREADS);
  huber<<<blocks, THREADS>>>(p, t, delta, loss, n);
}
