/*
Batch normalisation with the statistics of the batch. x has `batch` x `channels` x `length` elements. For each channel,
mean and (biased) variance are taken over batch and length; then
`y[b][c][l] = (x[b][c][l] - mean[c]) / sqrt(variance[c] + 1e-5) * gamma[c] + beta[c]`.

in x float32 [batch, channels, length] normal 3 2
in gamma float32 [channels] uniform 0.5 2
in beta float32 [channels]
out y float32 [batch, channels, length]
sizes batch,channels,length = 1,1,2 4,3,1 5,7,33 2,16,300
benchmark 16,32,128
tolerance 1e-3
wrong wrong_answer: (batch * length) - mean * mean => (batch * length - 1) - mean * mean
wrong race|wrong_answer|nondeterministic: __syncthreads();  // both sums are complete => // both sums are complete
*/
#include <cmath>

void reference(const float* x, const float* gamma, const float* beta, float* y, int batch, int channels,
               int length) {
  for (int c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (int b = 0; b < batch; ++b)
      for (int l = 0; l < length; ++l) sum += x[(b * channels + c) * length + l];
    const double mean = sum / (batch * length);
    for (int b = 0; b < batch; ++b)
      for (int l = 0; l < length; ++l) squares += std::pow(x[(b * channels + c) * length + l] - mean, 2);
    const double scale = gamma[c] / std::sqrt(squares / (batch * length) + 1e-5);
    for (int b = 0; b < batch; ++b)
      for (int l = 0; l < length; ++l) {
        const int at = (b * channels + c) * length + l;
        y[at] = (x[at] - mean) * scale + beta[c];
      }
  }
}

// solution
// A block a channel.
__global__ void batch_norm(const float* x, const float* gamma, const float* beta, float* y, int batch,
                           int channels, int length) {
  __shared__ double sums[2];
  const int c = blockIdx.x;
  if (threadIdx.x < 2) sums[threadIdx.x] = 0;
  __syncthreads();
  double sum = 0, squares = 0;
  for (int i = threadIdx.x; i < batch * length; i += blockDim.x) {
    double v = x[(i / length * channels + c) * length + i % length];
    sum += v;
    squares += v * v;
  }
  atomicAdd(&sums[0], sum);
  atomicAdd(&sums[1], squares);
  __syncthreads();  // both sums are complete
  const double mean = sums[0] / (batch * length);
  const double variance = sums[1] / (batch * length) - mean * mean;
  const float scale = gamma[c] * rsqrt(variance + 1e-5);
  const float shift = beta[c] - (float)mean * scale;
  for (int i = threadIdx.x; i < batch * length; i += blockDim.x) {
    int at = (i / length * channels + c) * length + i % length;
    y[at] = x[at] * scale + shift;
  }
}

void solve(const float* x, const float* gamma, const float* beta, float* y, int batch, int channels,
           int length) {
  batch_norm<<<channels, 128>>>(x, gamma, beta, y, batch, channels, length);
}
