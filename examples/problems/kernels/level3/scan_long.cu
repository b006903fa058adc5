/*
Exclusive prefix sums of a long array: `y[0] = 0` and `y[i] = x[0] + ... + x[i-1]`. Sums fit in 32 bits. The array is much
longer than what one block can hold.

in x int32 [n] integers -100 200
out y int32 [n]
sizes n = 0 1 256 257 30000
benchmark 65536
wrong wrong_answer|no_output: add_offsets<<<blocks, kBlock>>>(y, sums, n); =>
wrong wrong_answer: sum - mine => sum
*/
void reference(const int* x, int* y, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    y[i] = sum;
    sum += x[i];
  }
}

// solution
constexpr int kBlock = 256;

// Inclusive sum over the block; every thread gets its own.
__device__ int block_scan(int value) {
  __shared__ int warps[kBlock / 32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 1; step < 32; step *= 2) {
    int before = __shfl_up_sync(0xffffffff, value, step);
    if (lane >= step) value += before;
  }
  if (lane == 31) warps[warp] = value;
  __syncthreads();
  if (warp == 0 && lane < kBlock / 32) {
    int total = warps[lane];
    for (int step = 1; step < kBlock / 32; step *= 2) {
      int before = __shfl_up_sync((1u << kBlock / 32) - 1, total, step, kBlock / 32);
      if (lane >= step) total += before;
    }
    warps[lane] = total;
  }
  __syncthreads();
  return warp > 0 ? value + warps[warp - 1] : value;
}

__global__ void scan_blocks(const int* x, int* y, int* sums, int n) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  int mine = i < n ? x[i] : 0;
  int sum = block_scan(mine);
  if (i < n) y[i] = sum - mine;
  if (threadIdx.x == kBlock - 1 && sums) sums[blockIdx.x] = sum;
}

__global__ void add_offsets(int* y, const int* offsets, int n) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) y[i] += offsets[blockIdx.x];
}

// The sums of the blocks are scanned in the same way, until one block is enough.
void scan(const int* x, int* y, int n) {
  int blocks = (n + kBlock - 1) / kBlock;
  if (blocks <= 1) {
    scan_blocks<<<1, kBlock>>>(x, y, nullptr, n);
    return;
  }
  int* sums;
  cudaMalloc(&sums, blocks * sizeof(int));
  scan_blocks<<<blocks, kBlock>>>(x, y, sums, n);
  scan(sums, sums, blocks);
  add_offsets<<<blocks, kBlock>>>(y, sums, n);
  cudaFree(sums);
}

void solve(const int* x, int* y, int n) {
  if (n > 0) scan(x, y, n);
}
