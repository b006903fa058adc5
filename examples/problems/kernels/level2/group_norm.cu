/*
Group normalisation. x has `batch` x `channels` x `length` elements; the channels of each sample are split into `groups`
groups of channels / groups consecutive channels (it divides evenly). Mean and (biased) variance are taken over the
channels of a group and all of their length; `y = (x - mean) / sqrt(variance + 1e-5) * gamma[c] + beta[c]` for channel c.

in x float32 [batch, groups*per, length] normal -2 3
in gamma float32 [groups*per] uniform 0.5 2
in beta float32 [groups*per]
out y float32 [batch, groups*per, length]
sizes batch,groups,per,length = 1,1,1,2 2,3,4,5 3,2,3,77 1,8,2,128
benchmark 8,8,4,256
tolerance 1e-3
wrong wrong_answer: g * per + i / length => i / length
wrong wrong_answer: sum / size => sum / length
*/
#include <cmath>

void reference(const float* x, const float* gamma, const float* beta, float* y, int batch, int groups,
               int per, int length) {
  const int size = per * length;
  for (int s = 0; s < batch * groups; ++s) {
    const float* from = x + s * size;
    double mean = 0, variance = 0;
    for (int i = 0; i < size; ++i) mean += from[i] / double(size);
    for (int i = 0; i < size; ++i) variance += std::pow(from[i] - mean, 2) / size;
    for (int i = 0; i < size; ++i) {
      const int c = s % groups * per + i / length;
      y[s * size + i] = (from[i] - mean) / std::sqrt(variance + 1e-5) * gamma[c] + beta[c];
    }
  }
}

// solution
__device__ float block_sum(float v, float* scratch) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  float total = 0;
  for (int w = 0; w < blockDim.x / 32; ++w) total += scratch[w];
  __syncthreads();
  return total;
}

__global__ void group_norm(const float* x, const float* gamma, const float* beta, float* y, int groups,
                           int per, int length) {
  __shared__ float scratch[8];
  int size = per * length;
  int g = blockIdx.x;
  int at = (blockIdx.y * groups + g) * size;
  float sum = 0;
  for (int i = threadIdx.x; i < size; i += blockDim.x) sum += x[at + i];
  sum = block_sum(sum, scratch);
  float mean = sum / size;
  float squares = 0;
  for (int i = threadIdx.x; i < size; i += blockDim.x) squares += (x[at + i] - mean) * (x[at + i] - mean);
  float scale = rsqrtf(block_sum(squares, scratch) / size + 1e-5f);
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    int c = g * per + i / length;
    y[at + i] = (x[at + i] - mean) * scale * gamma[c] + beta[c];
  }
}

void solve(const float* x, const float* gamma, const float* beta, float* y, int batch, int groups, int per,
           int length) {
  group_norm<<<dim3(groups, batch), 256>>>(x, gamma, beta, y, groups, per, length);
}
