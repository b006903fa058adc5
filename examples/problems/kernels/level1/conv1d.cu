/*
One-dimensional convolution as deep learning means it (the filter is not flipped), without padding:
`y[i] = sum_j w[j] * x[i + j]` for i in 0..n-k. It holds that 1 <= k <= n and k <= 64.

in x float32 [n]
in w float32 [k]
out y float32 [n-k+1]
sizes n,k = 1,1 64,64 300,5 1025,31 2000,64
benchmark 65536,15
tolerance 1e-4
wrong wrong_answer|nonfinite: i < blockDim.x + k - 1 => i < blockDim.x
wrong wrong_answer: tile[threadIdx.x + j] * filter[j] => tile[threadIdx.x + j] * filter[k - 1 - j]
*/
void reference(const float* x, const float* w, float* y, int n, int k) {
  for (int i = 0; i + k <= n; ++i) {
    double sum = 0;
    for (int j = 0; j < k; ++j) sum += double(w[j]) * x[i + j];
    y[i] = sum;
  }
}

// solution
#define MAX_FILTER 64
__constant__ float filter[MAX_FILTER];

// The block's stretch of x and k - 1 elements more lie in shared memory.
__global__ void conv1d_kernel(const float* x, float* y, int n, int k) {
  extern __shared__ float tile[];
  int first = blockIdx.x * blockDim.x;
  for (int i = threadIdx.x; i < blockDim.x + k - 1; i += blockDim.x)
    tile[i] = first + i < n ? x[first + i] : 0.0f;
  __syncthreads();
  int out = first + threadIdx.x;
  if (out > n - k) return;
  float sum = 0.0f;
  for (int j = 0; j < k; ++j) sum += tile[threadIdx.x + j] * filter[j];
  y[out] = sum;
}

void solve(const float* x, const float* w, float* y, int n, int k) {
  cudaMemcpyToSymbol(filter, w, k * sizeof(float), 0, cudaMemcpyDeviceToDevice);
  int threads = 256;
  int blocks = (n - k + threads) / threads;
  conv1d_kernel<<<blocks, threads, (threads + k - 1) * sizeof(float)>>>(x, y, n, k);
}
