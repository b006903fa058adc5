/*
The sum of a vector: `total[0] = x[0] + x[1] + ... + x[n-1]`; 0 if n is 0. Many blocks must share the work.

in x float32 [n] uniform 0 1
out total float32 [1]
sizes n = 0 1 32 1000 100003
benchmark 262144
tolerance 1e-4
wrong race: if (lane == 0) atomicAdd(total, sum); => if (lane == 0) *total += sum;
wrong wrong_answer: offset = 16; => offset = 8;
*/
void reference(const float* x, float* total, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i];
  total[0] = sum;
}

// solution
__global__ void sum_kernel(const float* x, float* total, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  const int lane = threadIdx.x % 32;
  if (lane == 0) atomicAdd(total, sum);
}

void solve(const float* x, float* total, int n) {
  cudaMemset(total, 0, sizeof(float));
  sum_kernel<<<16, 256>>>(x, total, n);
}
