/*
Count how often each byte value occurs: `counts[v]` is the number of i with `data[i] == v`, for v in 0..255. Values
that do not occur have a count of 0.

in data uint8 [n] integers 0 120
out counts int32 [256]
sizes n = 0 1 257 5000 60001
benchmark 262144
wrong race|wrong_answer|nondeterministic: atomicAdd(&local[data[i]], 1) => local[data[i]]++
wrong wrong_answer|no_output: cudaMemset(counts, 0, 256 * sizeof(int)); =>
*/
void reference(const unsigned char* data, int* counts, int n) {
  for (int i = 0; i < n; ++i) ++counts[data[i]];
}

// solution
// Blocks count in shared memory first, so that few atomics go to global memory.
__global__ void histogram_kernel(const unsigned char* data, int* counts, int n) {
  __shared__ int local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&local[data[i]], 1);
  __syncthreads();
  if (local[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

void solve(const unsigned char* data, int* counts, int n) {
  cudaMemset(counts, 0, 256 * sizeof(int));
  histogram_kernel<<<12, 256>>>(data, counts, n);
}
