#include "cases.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

namespace cg = cooperative_groups;
constexpr unsigned kAll = 0xffffffffu;

inline float total(const std::vector<float>& v) { return std::accumulate(v.begin(), v.end(), 0.0f); }
inline bool near(float a, float b) { return std::fabs(a - b) <= 1e-3f * std::fabs(b) + 1e-4f; }

// --- elementwise -------------------------------------------------------------------------------------------------------
__global__ void add_k(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
CASE(add) {
  float *a = floats(1000), *c = zeros<float>(1000);
  add_k<<<4, 256>>>(a, a, c, 1000);
  EXPECT(fetched(c, 1000)[999] == 2 * fetched(a, 1000)[999]);
}

__global__ void grid_stride_k(float* y, float s, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = s * y[i] + 1;
}
CASE(grid_stride) { grid_stride_k<<<3, 64>>>(floats(1000), 2, 1000); }

__global__ void vectorised_k(const float4* x, float4* y, const float* tail, float* tail_out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    float4 v = x[i];
    v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
    y[i] = v;
  }
  if (i < n % 4) tail_out[n / 4 * 4 + i] = 2 * tail[n / 4 * 4 + i];
}
CASE(vectorised) {
  float *x = floats(1003), *y = zeros<float>(1003);
  vectorised_k<<<1, 256>>>((float4*)x, (float4*)y, x, y, 1003);
  EXPECT(near(total(fetched(y, 1003)), 2 * total(fetched(x, 1003))));
}

__global__ void pixels_k(const uchar4* in, unsigned char* grey, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grey[i] = (in[i].x * 77 + in[i].y * 151 + in[i].z * 28) >> 8;
}
CASE(pixels) { pixels_k<<<2, 64>>>((uchar4*)filled<unsigned char>(400), zeros<unsigned char>(100), 100); }

__global__ void halves_k(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(__half2float(x[i]) * 0.5f);
}
CASE(halves) { halves_k<<<2, 64>>>(zeros<__half>(101), zeros<__half>(101), 101); }

__global__ void in_place_k(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] > 0 ? x[i] : 0;
}
CASE(in_place) { in_place_k<<<4, 64>>>(floats(200), 200); }

struct Pair {
  float value;
  int index;
};
__global__ void structures_k(const Pair* in, Pair* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Pair p = in[n - 1 - i];
    p.index = i;
    out[i] = p;
  }
}
CASE(structures) { structures_k<<<2, 64>>>(zeros<Pair>(100), zeros<Pair>(100), 100); }

__global__ void byte_neighbours_k(const unsigned char* in, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int left = i > 0 ? in[i - 1] : 0, right = i + 1 < n ? in[i + 1] : 0;
  out[i] = (left + 2 * in[i] + right) / 4;
}
CASE(byte_neighbours) { byte_neighbours_k<<<2, 64>>>(filled<unsigned char>(99), zeros<unsigned char>(99), 99); }

// --- reductions ---------------------------------------------------------------------------------------------------------
__global__ void tree_k(const float* x, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) atomicAdd(y, s[0]);
}
CASE(tree) {
  float *x = floats(1000), *y = zeros<float>(1);
  tree_k<<<4, 256>>>(x, y, 1000);
  EXPECT(near(fetched(y, 1)[0], total(fetched(x, 1000))));
}

__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(kAll, v, d);
  return v;
}
__device__ float block_sum(float v) {
  __shared__ float partial[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_sum(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? partial[lane] : 0;
  if (warp == 0) v = warp_sum(v);
  return v;
}
__global__ void shuffles_k(const float* x, float* y, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = block_sum(v);
  if (threadIdx.x == 0) y[blockIdx.x] = v;
}
CASE(shuffles) {
  float *x = floats(1000), *y = zeros<float>(3);
  shuffles_k<<<3, 128>>>(x, y, 1000);
  EXPECT(near(total(fetched(y, 3)), total(fetched(x, 1000))));
}

__global__ void early_return_k(const float* x, float* y, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  s[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = s[threadIdx.x] + s[0];
}
CASE(early_return) { early_return_k<<<2, 64>>>(floats(100), zeros<float>(100), 100); }

__device__ __noinline__ void store_sum(float* s, float v) {
  s[threadIdx.x] = v;
  __syncthreads();
}
__global__ void return_before_helper_k(const float* x, float* y, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n)
    return;
  store_sum(s, x[i]);
  y[i] = s[0];
}
CASE(return_before_helper) { return_before_helper_k<<<2, 64>>>(floats(100), zeros<float>(100), 100); }

__global__ void warp_tail_k(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    volatile float* v = s;
    float sum = v[t] + v[t + 32];
    for (int d = 16; d > 0; d >>= 1) {
      __syncwarp();
      v[t] = sum;
      __syncwarp();
      if (t < d) sum += v[t + d];
    }
    if (t == 0) *y = sum;
  }
}
CASE(warp_tail) {
  float *x = floats(128), *y = zeros<float>(1);
  warp_tail_k<<<1, 128>>>(x, y);
  EXPECT(near(fetched(y, 1)[0], total(fetched(x, 128))));
}

__global__ void last_block_k(const float* x, volatile float* partial, unsigned* count, float* y, int n) {
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = block_sum(v);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    float sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
      *y = sum;
      *count = 0;
    }
  }
}
CASE(last_block) {
  float *x = floats(1000), *y = zeros<float>(1);
  last_block_k<<<40, 64>>>(x, zeros<float>(40), zeros<unsigned>(1), y, 1000);
  EXPECT(near(fetched(y, 1)[0], total(fetched(x, 1000))));
}

__global__ void all_fence_k(const float* x, float* partial, unsigned* count, float* y) {
  __shared__ bool last;
  int i = blockIdx.x * 64 + threadIdx.x;
  partial[i] = 2 * x[i];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(count, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  float sum = 0;
  for (int k = threadIdx.x; k < gridDim.x * 64; k += 64) sum += partial[k];
  atomicAdd(y, sum);
}
CASE(all_fence) {
  float *x = floats(256), *y = zeros<float>(1);
  all_fence_k<<<4, 64>>>(x, zeros<float>(256), zeros<unsigned>(1), y);
  EXPECT(near(fetched(y, 1)[0], 2 * total(fetched(x, 256))));
}

__global__ void barrier_then_fence_k(const float* x, float* partial, unsigned* count, float* y) {
  __shared__ unsigned ticket;
  int i = blockIdx.x * 64 + threadIdx.x;
  partial[i] = 2 * x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    ticket = atomicAdd(count, 1u);
  }
  __syncthreads();
  if (ticket == gridDim.x - 1) {
    float sum = 0;
    for (int k = threadIdx.x; k < gridDim.x * 64; k += 64) sum += partial[k];
    atomicAdd(y, sum);
  }
}
CASE(barrier_then_fence) {
  barrier_then_fence_k<<<4, 64>>>(floats(256), zeros<float>(256), zeros<unsigned>(1), zeros<float>(1));
}

__device__ float atomic_max(float* at, float value) {
  int* bits = (int*)at;
  int old = *bits, assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) >= value) break;
    old = atomicCAS(bits, assumed, __float_as_int(value));
  } while (assumed != old);
  return __int_as_float(old);
}
__global__ void cas_max_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(y, x[i]);
}
CASE(cas_max) {
  float *x = floats(1000), *y = zeros<float>(1);
  cas_max_k<<<4, 256>>>(x, y, 1000);
  auto h = fetched(x, 1000);
  EXPECT(fetched(y, 1)[0] == *std::max_element(h.begin(), h.end()));
}

__global__ void cas_double_k(const float* x, double* y) {
  auto* at = (unsigned long long*)y;
  unsigned long long old = *at, assumed;
  do {
    assumed = old;
    old = atomicCAS(at, assumed, __double_as_longlong(x[threadIdx.x] + __longlong_as_double(assumed)));
  } while (assumed != old);
}
CASE(cas_double) { cas_double_k<<<4, 64>>>(floats(64), zeros<double>(1)); }

__global__ void arg_max_k(const float* x, unsigned long long* best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned long long key = (unsigned long long)__float_as_uint(x[i]) << 32 | (unsigned)i;
    if (key > *best) atomicMax(best, key);
  }
}
CASE(arg_max) { arg_max_k<<<4, 64>>>(floats(250), zeros<unsigned long long>(1), 250); }

__global__ void reduce_instruction_k(const unsigned* x, unsigned* y) {
  unsigned sum = __reduce_add_sync(kAll, x[threadIdx.x]);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}
CASE(reduce_instruction) { reduce_instruction_k<<<2, 64>>>(filled<unsigned>(64), zeros<unsigned>(1)); }

__global__ void counted_barriers_k(const int* x, int* y) {
  int t = threadIdx.x;
  int n = __syncthreads_count(x[t] > 50);
  int some = __syncthreads_or(x[t] == 3), all = __syncthreads_and(x[t] > 0);
  if (t == 0) y[0] = n, y[1] = some, y[2] = all;
}
CASE(counted_barriers) { counted_barriers_k<<<1, 96>>>(ints(96), zeros<int>(3)); }

// --- scans ---------------------------------------------------------------------------------------------------------------
__global__ void two_buffers_k(const float* x, float* y) {
  __shared__ float s[2][128];
  int t = threadIdx.x, in = 0;
  s[0][t] = x[t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    s[in ^ 1][t] = t >= d ? s[in][t] + s[in][t - d] : s[in][t];
    in ^= 1;
    __syncthreads();
  }
  y[t] = s[in][t];
}
CASE(two_buffers) {
  float *x = floats(128), *y = zeros<float>(128);
  two_buffers_k<<<1, 128>>>(x, y);
  EXPECT(near(fetched(y, 128)[127], total(fetched(x, 128))));
}

__global__ void read_then_write_scan_k(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    float v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  y[t] = s[t];
}
CASE(read_then_write_scan) { read_then_write_scan_k<<<1, 128>>>(floats(128), zeros<float>(128)); }

__global__ void blelloch_k(const float* x, float* y, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  s[2 * t] = x[2 * t];
  s[2 * t + 1] = x[2 * t + 1];
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) s[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      float v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  y[2 * t] = s[2 * t];
  y[2 * t + 1] = s[2 * t + 1];
}
CASE(blelloch) { blelloch_k<<<1, 64, 128 * sizeof(float)>>>(floats(128), zeros<float>(128), 128); }

__global__ void warp_scan_k(const int* x, int* y) {
  __shared__ int sums[8];
  int t = threadIdx.x, lane = t & 31, v = x[t];
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_up_sync(kAll, v, d);
    if (lane >= d) v += other;
  }
  if (lane == 31) sums[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    int s = t < 8 ? sums[t] : 0;
    for (int d = 1; d < 8; d *= 2) {
      int other = __shfl_up_sync(kAll, s, d);
      if (lane >= d) s += other;
    }
    if (t < 8) sums[t] = s;
  }
  __syncthreads();
  y[t] = v + (t >= 32 ? sums[t / 32 - 1] : 0);
}
CASE(warp_scan) {
  int *x = ints(256), *y = zeros<int>(256);
  warp_scan_k<<<1, 256>>>(x, y);
  auto h = fetched(x, 256);
  EXPECT(fetched(y, 256)[255] == std::accumulate(h.begin(), h.end(), 0));
}

__global__ void look_back_k(const int* x, int* y, volatile int* sum, volatile int* prefix, volatile int* flag,
                            unsigned* ticket) {
  __shared__ unsigned part;
  __shared__ int before, s[64];
  int t = threadIdx.x;
  if (t == 0) part = atomicAdd(ticket, 1u);
  __syncthreads();
  int i = part * 64 + t;
  s[t] = x[i];
  __syncthreads();
  if (t == 0) {
    for (int k = 1; k < 64; ++k) s[k] += s[k - 1];
    sum[part] = s[63];
    __threadfence();
    flag[part] = 1;
    int total = 0;
    for (int b = (int)part - 1; b >= 0; --b) {
      int state;
      while ((state = flag[b]) == 0) {
      }
      __threadfence();
      if (state == 2) {
        total += prefix[b];
        break;
      }
      total += sum[b];
    }
    before = total;
    prefix[part] = total + s[63];
    __threadfence();
    flag[part] = 2;
  }
  __syncthreads();
  y[i] = before + s[t];
}
CASE(look_back) {
  int *x = ints(1024), *y = zeros<int>(1024);
  look_back_k<<<16, 64>>>(x, y, zeros<int>(16), zeros<int>(16), zeros<int>(16), zeros<unsigned>(1));
  auto h = fetched(x, 1024);
  EXPECT(fetched(y, 1024)[1023] == std::accumulate(h.begin(), h.end(), 0));
}

__global__ void look_back_atomic_k(const int* x, int* y, int* prefix, int* flag, unsigned* ticket) {
  __shared__ unsigned part;
  __shared__ int before;
  if (threadIdx.x == 0) {
    part = atomicAdd(ticket, 1u);
    int mine = x[part];
    int total = 0;
    if (part > 0) {
      while (atomicAdd(&flag[part - 1], 0) == 0) {
      }
      __threadfence();
      total = prefix[part - 1];
    }
    prefix[part] = total + mine;
    __threadfence();
    atomicExch(&flag[part], 1);
    before = total;
  }
  __syncthreads();
  y[part * 32 + threadIdx.x] = before;
}
CASE(look_back_atomic) {
  look_back_atomic_k<<<16, 32>>>(ints(16), zeros<int>(512), zeros<int>(16), zeros<int>(16), zeros<unsigned>(1));
}

// --- matrices ------------------------------------------------------------------------------------------------------------
__global__ void tiled_k(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
    bs[y][x] = column < n && k + y < n ? b[(k + y) * n + column] : 0;
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += as[y][j] * bs[j][x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
CASE(tiled) {
  float *a = floats(40 * 40), *c = zeros<float>(40 * 40);
  tiled_k<<<dim3(3, 3), dim3(16, 16)>>>(a, a, c, 40);
  auto h = fetched(a, 1600);
  float want = 0;
  for (int k = 0; k < 40; ++k) want += h[39 * 40 + k] * h[k * 40 + 39];
  EXPECT(near(fetched(c, 1600)[1599], want));
}

__global__ void register_tile_k(const float* a, const float* b, float* c, int n) {
  __shared__ float as[32][8], bs[8][32];
  int t = threadIdx.x, tx = t % 8, ty = t / 8;
  float sum[4][4] = {};
  for (int k = 0; k < n; k += 8) {
    for (int i = t; i < 256; i += 64) {
      as[i / 8][i % 8] = a[(blockIdx.y * 32 + i / 8) * n + k + i % 8];
      bs[i / 32][i % 32] = b[(k + i / 32) * n + blockIdx.x * 32 + i % 32];
    }
    __syncthreads();
    for (int j = 0; j < 8; ++j) {
      float ra[4], rb[4];
      for (int i = 0; i < 4; ++i) ra[i] = as[ty * 4 + i][j], rb[i] = bs[j][tx * 4 + i];
      for (int i = 0; i < 4; ++i)
        for (int l = 0; l < 4; ++l) sum[i][l] += ra[i] * rb[l];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int l = 0; l < 4; ++l)
      c[(blockIdx.y * 32 + ty * 4 + i) * n + blockIdx.x * 32 + tx * 4 + l] = sum[i][l];
}
CASE(register_tile) { register_tile_k<<<dim3(2, 2), 64>>>(floats(4096), floats(4096), zeros<float>(4096), 64); }

__global__ void two_stage_k(const float* a, float* c, int n) {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  s[0][t] = a[t];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    if (k + 1 < n) s[(k + 1) % 2][t] = a[(k + 1) * 64 + t];
    for (int j = 0; j < 64; ++j) sum += s[k % 2][(t + j) % 64];
    __syncthreads();
  }
  c[t] = sum;
}
CASE(two_stage) { two_stage_k<<<1, 64>>>(floats(320), zeros<float>(64), 5); }

__global__ void transpose_k(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (c < columns && r + j < rows) tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * columns + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (c < rows && r + j < columns) y[(r + j) * rows + c] = tile[threadIdx.x][threadIdx.y + j];
}
CASE(transpose) { transpose_k<<<dim3(2, 2), dim3(32, 8)>>>(floats(50 * 40), zeros<float>(50 * 40), 50, 40); }

__global__ void flat_tile_k(const float* x, float* y) {
  __shared__ float tile[8][16];
  int t = threadIdx.x;
  tile[0][t] = x[t];
  __syncthreads();
  y[t] = tile[t / 16][t % 16] + (&tile[0][0])[127 - t];
}
CASE(flat_tile) { flat_tile_k<<<1, 128>>>(floats(128), zeros<float>(128)); }

__global__ void row_product_k(const float* a, const float* x, float* y, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int c = lane; c < columns; c += 32) sum += a[row * columns + c] * x[c];
  sum = warp_sum(sum);
  if (lane == 0) y[row] = sum;
}
CASE(row_product) { row_product_k<<<3, 128>>>(floats(10 * 50), floats(50), zeros<float>(10), 10, 50); }

__global__ void sparse_k(const int* begin, const int* column, const float* value, const float* x, float* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int i = begin[r]; i < begin[r + 1]; ++i) sum += value[i] * x[column[i]];
  y[r] = sum;
}
CASE(sparse) {
  int begin[5] = {0, 2, 2, 5, 6};
  int* device;
  cudaMalloc(&device, sizeof(begin));
  cudaMemcpy(device, begin, sizeof(begin), cudaMemcpyHostToDevice);
  sparse_k<<<1, 32>>>(device, filled<int>(6, 4, 0), floats(6), floats(4), zeros<float>(4), 4);
}

// --- rows: softmax, norms, attention -----------------------------------------------------------------------------------
__global__ void softmax_k(const float* x, float* y, int columns) {
  __shared__ float s[128];
  const float* row = x + blockIdx.x * columns;
  int t = threadIdx.x;
  float most = -FLT_MAX;
  for (int c = t; c < columns; c += blockDim.x) most = fmaxf(most, row[c]);
  s[t] = most;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (t < d) s[t] = fmaxf(s[t], s[t + d]);
    __syncthreads();
  }
  most = s[0];
  __syncthreads();
  float sum = 0;
  for (int c = t; c < columns; c += blockDim.x) sum += expf(row[c] - most);
  s[t] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  for (int c = t; c < columns; c += blockDim.x) y[blockIdx.x * columns + c] = expf(row[c] - most) / s[0];
}
CASE(softmax) {
  float* y = zeros<float>(300);
  softmax_k<<<3, 128>>>(floats(300), y, 100);
  EXPECT(near(total(fetched(y, 300)), 3));
}

__global__ void layer_norm_k(const float* x, float* y, int columns) {
  __shared__ float mean, scale;
  const float* row = x + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c], squares += row[c] * row[c];
  sum = block_sum(sum);
  __syncthreads();
  squares = block_sum(squares);
  if (threadIdx.x == 0) {
    mean = sum / columns;
    scale = rsqrtf(squares / columns - mean * mean + 1e-5f);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) y[blockIdx.x * columns + c] = (row[c] - mean) * scale;
}
CASE(layer_norm) { layer_norm_k<<<2, 64>>>(floats(200), zeros<float>(200), 100); }

__global__ void attention_k(const float* q, const float* k, const float* v, float* o, int n) {
  __shared__ float ks[16][8], vs[16][8];
  int i = blockIdx.x * 16 + threadIdx.x;
  float mine[8], out[8] = {}, most = -1e30f, sum = 0;
  for (int d = 0; d < 8; ++d) mine[d] = i < n ? q[i * 8 + d] : 0;
  for (int j = 0; j < n; j += 16) {
    for (int d = 0; d < 8; ++d) {
      int row = j + threadIdx.x;
      ks[threadIdx.x][d] = row < n ? k[row * 8 + d] : 0;
      vs[threadIdx.x][d] = row < n ? v[row * 8 + d] : 0;
    }
    __syncthreads();
    for (int r = 0; r < 16 && j + r < n; ++r) {
      float score = 0;
      for (int d = 0; d < 8; ++d) score += mine[d] * ks[r][d];
      float larger = fmaxf(most, score), old = expf(most - larger), now = expf(score - larger);
      sum = sum * old + now;
      for (int d = 0; d < 8; ++d) out[d] = out[d] * old + now * vs[r][d];
      most = larger;
    }
    __syncthreads();
  }
  if (i < n)
    for (int d = 0; d < 8; ++d) o[i * 8 + d] = out[d] / sum;
}
CASE(attention) { attention_k<<<3, 16>>>(floats(320), floats(320), floats(320), zeros<float>(320), 40); }

__global__ void butterfly_k(const float* x, float* y) {
  float v = x[blockIdx.x * 32 + threadIdx.x], most = v;
  for (int d = 16; d > 0; d >>= 1) most = fmaxf(most, __shfl_xor_sync(kAll, most, d));
  float e = expf(v - most), sum = e;
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);
  y[blockIdx.x * 32 + threadIdx.x] = e / sum;
}
CASE(butterfly) { butterfly_k<<<3, 32>>>(floats(96), zeros<float>(96)); }

// --- histograms, atomics --------------------------------------------------------------------------------------------------
__global__ void shared_histogram_k(const int* x, int* bins, int n) {
  __shared__ int s[32];
  for (int b = threadIdx.x; b < 32; b += blockDim.x) s[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i] % 32], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < 32; b += blockDim.x) atomicAdd(&bins[b], s[b]);
}
CASE(shared_histogram) {
  int* bins = zeros<int>(32);
  shared_histogram_k<<<3, 64>>>(ints(500), bins, 500);
  auto h = fetched(bins, 32);
  EXPECT(std::accumulate(h.begin(), h.end(), 0) == 500);
}

__global__ void aggregated_k(const int* x, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 48) {
    unsigned active = __activemask();
    int lane = threadIdx.x & 31, leader = __ffs(active) - 1, base = 0;
    if (lane == leader) base = atomicAdd(count, __popc(active));
    base = __shfl_sync(active, base, leader);
    out[base + __popc(active & ((1u << lane) - 1))] = x[i];
  }
}
CASE(aggregated) { aggregated_k<<<2, 128>>>(ints(250), zeros<int>(250), zeros<int>(1), 250); }

__global__ void ballot_compact_k(const int* x, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  bool keep = i < n && x[i] % 3 == 0;
  unsigned votes = __ballot_sync(kAll, keep);
  int base = 0;
  if (lane == 0 && votes) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(kAll, base, 0);
  if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = x[i];
}
CASE(ballot_compact) { ballot_compact_k<<<2, 128>>>(ints(250), zeros<int>(250), zeros<int>(1), 250); }

__global__ void matches_k(const int* x, int* bins) {
  unsigned same = __match_any_sync(kAll, x[threadIdx.x] % 4);
  if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&bins[x[threadIdx.x] % 4], __popc(same));
}
CASE(matches) { matches_k<<<1, 64>>>(ints(64), zeros<int>(4)); }

__global__ void lock_k(int* lock, int* sum, int* order) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    order[*sum] = blockIdx.x;
    *sum = *sum + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
CASE(lock) {
  int* sum = zeros<int>(1);
  lock_k<<<16, 32>>>(zeros<int>(1), sum, zeros<int>(16));
  EXPECT(fetched(sum, 1)[0] == 16);
}

__global__ void same_flag_k(const int* x, int* flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 90) *flag = 1;
}
CASE(same_flag) {
  int* flag = zeros<int>(1);
  same_flag_k<<<4, 64>>>(ints(256), flag, 256);
  EXPECT(fetched(flag, 1)[0] == 1);
}

__global__ void shared_flag_k(const int* x, int* y) {
  __shared__ bool any;
  if (threadIdx.x == 0) any = false;
  __syncthreads();
  if (x[threadIdx.x] > 10) any = true;
  __syncthreads();
  y[threadIdx.x] = any;
}
CASE(shared_flag) { shared_flag_k<<<1, 128>>>(ints(128), zeros<int>(128)); }

__global__ void uniform_value_k(const float* x, float* y) {
  __shared__ float mean;
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += x[i];
  mean = sum / 16;
  y[threadIdx.x] = x[threadIdx.x] - mean;
}
CASE(uniform_value) { uniform_value_k<<<1, 64>>>(floats(64), zeros<float>(64)); }

__global__ void block_scope_k(int* y) {
  atomicAdd_block(&y[blockIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd_system(&y[4], y[blockIdx.x]);
}
CASE(block_scope) { block_scope_k<<<4, 64>>>(zeros<int>(5)); }

__device__ unsigned visits;
__global__ void device_counter_k(unsigned* y) {
  unsigned mine = atomicAdd(&visits, 1u);
  y[mine % 64] = 1;
}
CASE(device_counter) {
  unsigned zero = 0;
  cudaMemcpyToSymbol(visits, &zero, sizeof(zero));
  device_counter_k<<<2, 32>>>(zeros<unsigned>(64));
  cudaMemcpyFromSymbol(&zero, visits, sizeof(zero));
  EXPECT(zero == 64);
}

// --- stencils, convolutions, sorting -----------------------------------------------------------------------------------
__global__ void halo_k(const float* x, float* y, int n) {
  __shared__ float s[64 + 2];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + 1] = i < n ? x[i] : 0;
  if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;
  if (t == 63) s[65] = i + 1 < n ? x[i + 1] : 0;
  __syncthreads();
  if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2];
}
CASE(halo) { halo_k<<<2, 64>>>(floats(100), zeros<float>(100), 100); }

__constant__ float taps[9];
__global__ void convolution_k(const float* x, float* y, int rows, int columns) {
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r >= rows || c >= columns) return;
  float sum = 0;
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      if (r + i >= 0 && r + i < rows && c + j >= 0 && c + j < columns)
        sum += taps[(i + 1) * 3 + j + 1] * x[(r + i) * columns + c + j];
  y[r * columns + c] = sum;
}
CASE(convolution) {
  float host[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
  cudaMemcpyToSymbol(taps, host, sizeof(host));
  convolution_k<<<dim3(2, 2), dim3(16, 16)>>>(floats(25 * 20), zeros<float>(25 * 20), 25, 20);
}

__global__ void bitonic_k(int* x) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int k = 2; k <= 128; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int other = t ^ j;
      if (other > t && (s[t] > s[other]) == ((t & k) == 0)) {
        int swap = s[t];
        s[t] = s[other];
        s[other] = swap;
      }
      __syncthreads();
    }
  x[t] = s[t];
}
CASE(bitonic) {
  int* x = ints(128);
  bitonic_k<<<1, 128>>>(x);
  auto h = fetched(x, 128);
  EXPECT(std::is_sorted(h.begin(), h.end()));
}

__global__ void bitonic_step_k(int* x, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
  if (other > i && (x[i] > x[other]) == ((i & k) == 0)) {
    int swap = x[i];
    x[i] = x[other];
    x[other] = swap;
  }
}
CASE(bitonic_steps) {
  int* x = ints(256);
  for (int k = 2; k <= 256; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) bitonic_step_k<<<4, 64>>>(x, j, k);
  auto h = fetched(x, 256);
  EXPECT(std::is_sorted(h.begin(), h.end()));
}

__global__ void top_k_k(const float* x, float* y, int n) {
  float best[4] = {-1e30f, -1e30f, -1e30f, -1e30f};
  for (int i = 0; i < n; ++i) {
    float v = x[threadIdx.x * n + i];
    for (int j = 0; j < 4; ++j)
      if (v > best[j]) {
        float swap = best[j];
        best[j] = v;
        v = swap;
      }
  }
  for (int j = 0; j < 4; ++j) y[threadIdx.x * 4 + j] = best[j];
}
CASE(top_k) { top_k_k<<<1, 8>>>(floats(8 * 20), zeros<float>(32), 20); }

__device__ void insertion_sort(float* v, int n) {
  for (int i = 1; i < n; ++i) {
    float key = v[i];
    int j = i - 1;
    for (; j >= 0 && v[j] > key; --j) v[j + 1] = v[j];
    v[j + 1] = key;
  }
}
__global__ void median_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n - 8) return;
  float window[9];
  for (int j = 0; j < 9; ++j) window[j] = x[i + j];
  insertion_sort(window, 9);
  y[i] = window[4];
}
CASE(median) { median_k<<<2, 64>>>(floats(100), zeros<float>(100), 100); }

__global__ void life_k(const unsigned char* from, unsigned char* to, int n) {
  int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y, alive = 0;
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      if (i || j) alive += from[(r + i + n) % n * n + (c + j + n) % n] & 1;
  to[r * n + c] = alive == 3 || (alive == 2 && (from[r * n + c] & 1));
}
CASE(life) {
  unsigned char *a = filled<unsigned char>(256, 2, 0), *b = zeros<unsigned char>(256);
  for (int k = 0; k < 4; ++k) {
    life_k<<<dim3(2, 2), dim3(8, 8)>>>(a, b, 16);
    std::swap(a, b);
  }
}

// --- warps that work apart, cooperative groups ----------------------------------------------------------------------------
__global__ void warp_regions_k(const float* x, float* y) {
  __shared__ float s[4][32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int k = 0; k < 3; ++k) {
    s[warp][lane] = x[threadIdx.x] + k;
    __syncwarp();
    float v = s[warp][(lane + 1) & 31] + s[warp][31 - lane];
    __syncwarp();
    y[threadIdx.x + k * 128] = v;
  }
}
CASE(warp_regions) { warp_regions_k<<<1, 128>>>(floats(128), zeros<float>(384)); }

__global__ void half_warps_k(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  unsigned mask = t & 16 ? 0xffff0000u : 0x0000ffffu;
  s[t] = x[t];
  __syncwarp(mask);
  float v = s[t ^ 15];
  __syncwarp(mask);
  s[t ^ 15] = v + 1;
  __syncwarp(mask);
  y[t] = s[t];
}
CASE(half_warps) { half_warps_k<<<1, 64>>>(floats(64), zeros<float>(64)); }

__global__ void even_lanes_k(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  if (t % 2 == 0) {
    s[t] = x[t];
    __syncwarp(0x55555555u);
    float v = s[0] + s[30 - t];
    __syncwarp(0x55555555u);
    if (t == 0) s[0] = v;
    __syncwarp(0x55555555u);
    y[t] = v + s[0];
  }
}
CASE(even_lanes) { even_lanes_k<<<1, 32>>>(floats(32), zeros<float>(32)); }

__global__ void shuffle_orders_k(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  float v = __shfl_xor_sync(kAll, x[t], 1);
  y[t] = v + s[31 - t];
}
CASE(shuffle_orders) { shuffle_orders_k<<<1, 32>>>(floats(32), zeros<float>(32)); }

__global__ void tiles_k(const float* x, float* y) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  tile.sync();
  float v = s[threadIdx.x ^ 8];
  for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
  if (tile.thread_rank() == 0) s[threadIdx.x] = v;
  block.sync();
  if (block.thread_rank() == 0) *y = s[0] + s[16] + s[32] + s[48];
}
CASE(tiles) {
  float *x = floats(64), *y = zeros<float>(1);
  tiles_k<<<1, 64>>>(x, y);
  EXPECT(near(fetched(y, 1)[0], total(fetched(x, 64))));
}

__global__ void group_reduce_k(const float* x, float* y) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  float sum = cg::reduce(tile, x[threadIdx.x], cg::plus<float>());
  if (tile.thread_rank() == 0) atomicAdd(y, sum);
}
CASE(group_reduce) { group_reduce_k<<<2, 64>>>(floats(64), zeros<float>(1)); }

__global__ void grid_sync_k(const float* x, float* sums, float* y, int n) {
  auto grid = cg::this_grid();
  float v = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
  v = block_sum(v);
  if (threadIdx.x == 0) sums[blockIdx.x] = v;
  grid.sync();
  float all = 0;
  for (int b = 0; b < gridDim.x; ++b) all += sums[b];
  grid.sync();
  if (threadIdx.x == 0) sums[(blockIdx.x + 1) % gridDim.x] = all;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] / all;
}
CASE(grid_sync) {
  float *x = floats(200), *sums = zeros<float>(4), *y = zeros<float>(200);
  int n = 200;
  void* arguments[] = {&x, &sums, &y, &n};
  cudaLaunchCooperativeKernel((void*)grid_sync_k, dim3(4), dim3(32), arguments);
  EXPECT(near(total(fetched(y, 200)), 1));
}

// --- flags between warps and blocks ----------------------------------------------------------------------------------------
__global__ void hand_over_k(const float* x, float* y) {
  __shared__ float s[32];
  __shared__ volatile int ready;
  int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = 2 * x[t];
    __threadfence_block();
    __syncwarp();
    if (t == 0) ready = 1;
  } else {
    while (ready == 0) {
    }
    __threadfence_block();
    y[t - 32] = s[t - 32];
  }
}
CASE(hand_over) { hand_over_k<<<1, 64>>>(floats(32), zeros<float>(32)); }

__global__ void message_k(int* data, volatile int* flag, int* y) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x + 42;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      *flag = 1;
    }
  } else {
    if (threadIdx.x == 0)
      while (*flag == 0) {
      }
    __syncthreads();
    __threadfence();
    y[threadIdx.x] = data[threadIdx.x];
  }
}
CASE(message) { message_k<<<2, 64>>>(zeros<int>(64), zeros<int>(1), zeros<int>(64)); }

__global__ void own_grid_barrier_k(const float* x, float* a, float* b, unsigned* arrived) {
  int i = blockIdx.x * 32 + threadIdx.x, n = gridDim.x * 32;
  a[i] = x[i];
  for (unsigned round = 1; round <= 3; ++round) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1u);
      while (atomicAdd(arrived, 0u) < round * gridDim.x) {
      }
      __threadfence();
    }
    __syncthreads();
    float* from = round % 2 ? a : b;
    float* to = round % 2 ? b : a;
    to[i] = from[(i + 1) % n] + from[(i + n - 1) % n];
  }
}
CASE(own_grid_barrier) {
  own_grid_barrier_k<<<4, 32>>>(floats(128), zeros<float>(128), zeros<float>(128), zeros<unsigned>(1));
}

// --- the rest ----------------------------------------------------------------------------------------------------------------
__global__ void partitioned_k(const float* x, int* y, int n) {
  extern __shared__ char raw[];
  float* a = (float*)raw;
  int* b = (int*)(a + n);
  int t = threadIdx.x;
  a[t] = x[t];
  b[t] = t;
  __syncthreads();
  y[t] = b[n - 1 - t] + (int)a[(t + 1) % n];
}
CASE(partitioned) { partitioned_k<<<1, 64, 64 * 8>>>(floats(64), zeros<int>(64), 64); }

__global__ void permute_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i * 7 % n] = x[i];
}
CASE(permute) { permute_k<<<4, 64>>>(floats(250), zeros<float>(250), 250); }

__global__ void random_k(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = i * 747796405u + 2891336453u;
  int inside = 0;
  for (int k = 0; k < 50; ++k) {
    state = state * 1664525u + 1013904223u;
    float a = (state >> 8) * (1.0f / (1 << 24));
    state = state * 1664525u + 1013904223u;
    float b = (state >> 8) * (1.0f / (1 << 24));
    inside += a * a + b * b < 1;
  }
  if (i < n) y[i] = inside * 4 / 50.0f;
}
CASE(monte_carlo) { random_k<<<2, 64>>>(zeros<float>(100), 100); }

__global__ void passes_k(float* x, float factor) { x[blockIdx.x * 32 + threadIdx.x] *= factor; }
CASE(streams) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  float *x = floats(64), *y = floats(64);
  for (int k = 0; k < 3; ++k) {
    passes_k<<<2, 32, 0, a>>>(x, 2);
    passes_k<<<2, 32, 0, b>>>(y, 3);
  }
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

struct Box {
  float low[3], high[3];
};
__global__ void by_value_k(Box box, const float* x, int* inside, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool in = true;
  for (int d = 0; d < 3; ++d) in = in && x[i * 3 + d] >= box.low[d] && x[i * 3 + d] <= box.high[d];
  if (in) atomicAdd(inside, 1);
}
CASE(by_value) {
  by_value_k<<<1, 64>>>(Box{{0, 0, 0}, {50, 50, 50}}, floats(180), zeros<int>(1), 60);
}

__global__ void lookup_k(const int* x, float* y) {
  const float table[8] = {0, 1, 4, 9, 16, 25, 36, 49};
  y[threadIdx.x] = table[x[threadIdx.x] & 7];
}
CASE(lookup) { lookup_k<<<1, 32>>>(ints(32), zeros<float>(32)); }

template <int N>
__global__ void templated_k(const float* x, float* y) {
  __shared__ float s[N];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[N - 1 - threadIdx.x];
}
CASE(templated) {
  templated_k<32><<<1, 32>>>(floats(32), zeros<float>(32));
  templated_k<64><<<1, 64>>>(floats(64), zeros<float>(64));
}

__global__ void outer_product_k(const float* a, const float* b, float* c, int rows, int columns) {
  for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y)
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < columns; j += gridDim.x * blockDim.x)
      c[r * columns + j] = a[r] * b[j];
}
CASE(outer_product) { outer_product_k<<<dim3(2, 2), dim3(8, 8)>>>(floats(20), floats(30), zeros<float>(600), 20, 30); }

__global__ void pool_k(const float* x, float* y, int rows, int columns) {
  int c = threadIdx.x, r = blockIdx.x;
  if (c >= columns / 2) return;
  const float* at = x + 2 * r * columns + 2 * c;
  y[r * (columns / 2) + c] = fmaxf(fmaxf(at[0], at[1]), fmaxf(at[columns], at[columns + 1]));
}
CASE(pool) { pool_k<<<5, 32>>>(floats(10 * 20), zeros<float>(50), 10, 20); }

__global__ void carry_k(const float* x, float* y, int n) {
  __shared__ float s[32], carry;
  int t = threadIdx.x;
  if (t == 0) carry = 0;
  for (int k = 0; k < n; k += 32) {
    s[t] = k + t < n ? x[k + t] : 0;
    __syncthreads();
    for (int d = 1; d < 32; d *= 2) {
      float v = t >= d ? s[t - d] : 0;
      __syncthreads();
      s[t] += v;
      __syncthreads();
    }
    if (k + t < n) y[k + t] = s[t] + carry;
    __syncthreads();
    if (t == 31) carry += s[31];
    __syncthreads();
  }
}
CASE(carry) {
  float *x = floats(100), *y = zeros<float>(100);
  carry_k<<<1, 32>>>(x, y, 100);
  EXPECT(near(fetched(y, 100)[99], total(fetched(x, 100))));
}

__global__ void shortest_paths_k(int* d, int n, int k) {
  int i = threadIdx.y, j = threadIdx.x;
  d[i * n + j] = min(d[i * n + j], d[i * n + k] + d[k * n + j]);
}
CASE(shortest_paths) {
  int* d = zeros<int>(64);
  std::vector<int> host(64);
  for (int i = 0; i < 64; ++i) host[i] = i % 9 == 0 ? 0 : 1 + i * 37 % 29;
  cudaMemcpy(d, host.data(), sizeof(int) * 64, cudaMemcpyHostToDevice);
  for (int k = 0; k < 8; ++k) shortest_paths_k<<<1, dim3(8, 8)>>>(d, 8, k);
}

__global__ void own_shared_k(const float* x, float* y, int n) {
  extern __shared__ float s[];
  float* mine = &s[threadIdx.x * 4];
  mine[0] = 0;
  for (int i = 0; i < n; ++i) mine[0] += x[i];
  y[threadIdx.x] = mine[0];
}
CASE(own_shared) { own_shared_k<<<1, 32, 512>>>(floats(8), zeros<float>(32), 8); }

__global__ void copies_k(const float* x, float* y, int n) {
  float own[32];
  memcpy(own, x + threadIdx.x * n, n * sizeof(float));
  memset(y + threadIdx.x * n, 0, n * sizeof(float));
  for (int i = 0; i < n; ++i) y[threadIdx.x * n + i] += own[n - 1 - i];
}
CASE(copies) { copies_k<<<1, 4>>>(floats(128), zeros<float>(128), 32); }

__device__ __constant__ int small_a = 3, small_b = 4;
__device__ const float fixed[3] = {1, 2, 3};
namespace inner {
__managed__ int shared_with_host[4];
static __device__ float2 point;
}  // namespace inner
__global__ void variables_k(float* y) {
  static int seen;
  atomicAdd(&seen, 1);
  if (threadIdx.x == 0) inner::shared_with_host[1] = small_a, inner::point = make_float2(1, 2);
  __syncthreads();
  y[threadIdx.x] = small_b + fixed[threadIdx.x % 3] + inner::point.y;
}
CASE(variables) {
  inner::shared_with_host[1] = 7;
  float* y = zeros<float>(32);
  variables_k<<<1, 32>>>(y);
  cudaDeviceSynchronize();
  EXPECT(inner::shared_with_host[1] == 3 && fetched(y, 32)[1] == 8);
}

__global__ void named_barriers_k(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = x[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[t] = s[63 - t];
  } else {
    y[t] = x[t];
  }
}
CASE(named_barriers) { named_barriers_k<<<1, 128>>>(floats(128), zeros<float>(128)); }
