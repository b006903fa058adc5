#include "cases.h"

#include <cuda_fp16.h>

// --- out of bounds: global memory -----------------------------------------------------------------------------------
__global__ void tail_write_k(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = i;  // FAULT out_of_bounds
}
CASE(tail_write) { tail_write_k<<<4, 256>>>(zeros<float>(1000), 1000); }

__global__ void tail_read_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];  // FAULT out_of_bounds
  if (i < n) y[i] = v;
}
CASE(tail_read) { tail_read_k<<<4, 256>>>(floats(1000), zeros<float>(1000), 1000); }

__global__ void guard_off_by_one_k(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = 2 * i;  // FAULT out_of_bounds
}
CASE(guard_off_by_one) { guard_off_by_one_k<<<4, 256>>>(zeros<float>(1000), 1000); }

__global__ void negative_index_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] - x[i - 1];  // FAULT out_of_bounds
}
CASE(negative_index) { negative_index_k<<<4, 256>>>(floats(1000), zeros<float>(1000), 1000); }

__global__ void pitch_k(const float* x, float* y, int rows, int columns) {
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < rows && c < columns) y[c * columns + r] = x[r * columns + c];  // FAULT out_of_bounds
}
CASE(pitch) { pitch_k<<<dim3(4, 2), dim3(16, 16)>>>(floats(20 * 60), zeros<float>(20 * 60), 20, 60); }

__global__ void use_after_free_k(float* y) {
  y[threadIdx.x] = 1;  // FAULT out_of_bounds
}
CASE(use_after_free) {
  float* y = zeros<float>(64);
  cudaFree(y);
  use_after_free_k<<<1, 64>>>(y);
}

__global__ void byte_tail_k(unsigned char* y, int n) {
  for (int i = threadIdx.x; i <= n; i += blockDim.x) y[i] = 1;  // FAULT out_of_bounds
}
CASE(byte_tail) { byte_tail_k<<<1, 8>>>(zeros<unsigned char>(13), 13); }

__global__ void half_tail_k(__half* y, int n) {
  int i = threadIdx.x;
  y[i] = __float2half(1.0f);  // FAULT out_of_bounds
}
CASE(half_tail) { half_tail_k<<<1, 32>>>(zeros<__half>(31), 31); }

__global__ void vector_tail_k(const float4* x, float* y, int n) {
  int i = threadIdx.x;
  if (i * 4 < n) {
    float4 v = x[i];  // FAULT out_of_bounds
    y[i] = v.x + v.y + v.z + v.w;
  }
}
CASE(vector_tail) { vector_tail_k<<<1, 32>>>((const float4*)floats(101), zeros<float>(32), 101); }

__global__ void grid_stride_overrun_k(float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n + 3; i += gridDim.x * blockDim.x)
    y[i] = 1;  // FAULT out_of_bounds
}
CASE(grid_stride_overrun) { grid_stride_overrun_k<<<3, 64>>>(zeros<float>(1000), 1000); }

__global__ void gather_k(const float* x, const int* index, float* y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = x[index[i]];  // FAULT out_of_bounds
}
CASE(gather) { gather_k<<<1, 128>>>(floats(50), filled<int>(100, 60), zeros<float>(100), 100); }

__global__ void histogram_bin_k(const int* x, int* bins, int n) {
  int i = threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], 1);  // FAULT out_of_bounds
}
CASE(histogram_bin) { histogram_bin_k<<<1, 128>>>(filled<int>(100, 64), zeros<int>(64), 100); }

struct Particle {
  float x, y, z;
  int kind;
};
__global__ void struct_tail_k(Particle* p, int n) {
  int i = threadIdx.x;
  p[i].kind = i;  // FAULT out_of_bounds
}
CASE(struct_tail) { struct_tail_k<<<1, 32>>>(zeros<Particle>(20), 20); }

__global__ void struct_copy_k(const Particle* p, Particle* q, int n) {
  int i = threadIdx.x;
  q[i] = p[i];  // FAULT out_of_bounds
}
CASE(struct_copy) { struct_copy_k<<<1, 32>>>(zeros<Particle>(32), zeros<Particle>(31), 31); }

__global__ void last_row_k(const float* x, float* y, int rows, int columns) {
  int r = blockIdx.x, c = threadIdx.x;
  if (c < columns) y[r * columns + c] = x[r * columns + c] + x[(r + 1) * columns + c];  // FAULT out_of_bounds
}
CASE(last_row) { last_row_k<<<10, 32>>>(floats(300), zeros<float>(300), 10, 30); }

__device__ void store_far(float* y, int i) {
  y[i + 1] = 3;  // FAULT out_of_bounds
}
__global__ void in_helper_k(float* y) { store_far(y, threadIdx.x); }
CASE(in_helper) { in_helper_k<<<1, 64>>>(zeros<float>(64)); }

template <typename T>
__global__ void templated_k(T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = T(1);  // FAULT out_of_bounds
}
CASE(templated) { templated_k<double><<<2, 64>>>(zeros<double>(100), 100); }

__global__ void empty_array_k(const float* x, float* y) {
  y[0] = x[0];  // FAULT out_of_bounds device_fault
}
CASE(empty_array) {
  float* x = nullptr;
  cudaMalloc(&x, 0);
  empty_array_k<<<1, 1>>>(x, zeros<float>(1));
}

__global__ void copy_overrun_k(char* to, const char* from, int n) {
  if (threadIdx.x == 0) memcpy(to, from, n + 1);  // FAULT out_of_bounds
}
CASE(copy_overrun) { copy_overrun_k<<<1, 32>>>(zeros<char>(100), zeros<char>(200), 100); }

// --- no device memory ------------------------------------------------------------------------------------------------
__global__ void null_pointer_k(float* y) {
  y[threadIdx.x] = 1;  // FAULT device_fault
}
CASE(null_pointer) { null_pointer_k<<<1, 32>>>(nullptr); }

__global__ void wild_pointer_k(float* y) {
  y[threadIdx.x] = 1;  // FAULT device_fault
}
CASE(wild_pointer) { wild_pointer_k<<<1, 32>>>((float*)0x123456789000); }

__global__ void host_heap_k(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // FAULT device_fault
}
CASE(host_heap) {
  std::vector<float> x(64, 1.0f);
  host_heap_k<<<1, 32>>>(x.data(), zeros<float>(32));
}

__global__ void host_stack_k(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // FAULT device_fault
}
CASE(host_stack) {
  float x[2048];
  for (float& v : x) v = 1;
  host_stack_k<<<1, 32>>>(x + 1024, zeros<float>(32));
}

CASE(device_read_by_host) {
  float* y = zeros<float>(32);
  std::printf("%g\n", y[3]);  // FAULT device_fault
}

CASE(device_written_by_host) {
  int* y = zeros<int>(32);
  y[3] = 5;  // FAULT device_fault
}

int host_table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__global__ void host_variable_k(const int* table, int* y) {
  y[threadIdx.x] = table[threadIdx.x];  // FAULT device_fault
}
CASE(host_variable) { host_variable_k<<<1, 8>>>(host_table, zeros<int>(8)); }

__device__ int steps;
__global__ void count_steps_k(int* y) { *y = steps; }
CASE(device_variable_by_host) {
  steps = 3;  // FAULT device_fault
  count_steps_k<<<1, 1>>>(zeros<int>(1));
}

CASE(device_copied_by_host) {
  float host[8], *y = zeros<float>(8);
  memcpy(host, y, sizeof(host));  // FAULT device_fault
  std::printf("%g\n", host[0]);
}

__global__ void misaligned_float4_k(const float* x, float* y) {
  float4 v = *reinterpret_cast<const float4*>(x + threadIdx.x);  // FAULT device_fault
  y[threadIdx.x] = v.x + v.w;
}
CASE(misaligned_float4) { misaligned_float4_k<<<1, 32>>>(floats(64), zeros<float>(32)); }

__global__ void misaligned_store_k(int* y) {
  reinterpret_cast<int2*>(y + 1)[threadIdx.x] = make_int2(1, 2);  // FAULT device_fault
}
CASE(misaligned_store) { misaligned_store_k<<<1, 8>>>(zeros<int>(64)); }

__global__ void misaligned_double_k(char* bytes) {
  *reinterpret_cast<double*>(bytes + 4) = 1.5;  // FAULT device_fault
}
CASE(misaligned_double) { misaligned_double_k<<<1, 1>>>(zeros<char>(64)); }

// --- out of bounds: shared memory -------------------------------------------------------------------------------------
__global__ void shared_tail_k(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;  // FAULT out_of_bounds
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x % 64];
}
CASE(shared_tail) { shared_tail_k<<<1, 128>>>(zeros<float>(128)); }

__global__ void shared_negative_k(float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  y[t] = s[t] + s[t - 1];  // FAULT out_of_bounds
}
CASE(shared_negative) { shared_negative_k<<<1, 64>>>(zeros<float>(64)); }

__global__ void shared_rows_k(float* y) {
  __shared__ float tile[16][16];
  int r = threadIdx.y, c = threadIdx.x;
  tile[r][c] = r + c;
  __syncthreads();
  y[r * 16 + c] = tile[r + 1][c];  // FAULT out_of_bounds
}
CASE(shared_rows) { shared_rows_k<<<1, dim3(16, 16)>>>(zeros<float>(256)); }

__global__ void shared_halo_k(const float* x, float* y, int n) {
  __shared__ float s[128 + 1];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t + 1] = x[i];
  if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;
  if (t == 127) s[129] = i + 1 < n ? x[i + 1] : 0;  // FAULT out_of_bounds
  __syncthreads();
  y[i] = s[t] + s[t + 1];
}
CASE(shared_halo) { shared_halo_k<<<2, 128>>>(floats(256), zeros<float>(256), 256); }

__global__ void dynamic_short_k(float* y) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = 1;  // FAULT out_of_bounds
  __syncthreads();
  y[threadIdx.x] = buffer[0];
}
CASE(dynamic_short) { dynamic_short_k<<<1, 64, 63 * sizeof(float)>>>(zeros<float>(64)); }

__global__ void dynamic_none_k(float* y) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = 1;  // FAULT out_of_bounds
  __syncthreads();
  y[threadIdx.x] = buffer[0];
}
CASE(dynamic_none) { dynamic_none_k<<<1, 64>>>(zeros<float>(64)); }

__global__ void dynamic_negative_k(const int* x, int* y) {
  extern __shared__ int counts[];
  counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counts[x[threadIdx.x] - 50], 1);  // FAULT out_of_bounds
  __syncthreads();
  y[threadIdx.x] = counts[threadIdx.x];
}
CASE(dynamic_negative) { dynamic_negative_k<<<1, 64, 256>>>(filled<int>(64, 97, 1), zeros<int>(64)); }

__global__ void into_the_next_k(float* y) {
  __shared__ float a[32];
  __shared__ float b[32];
  int t = threadIdx.x;
  b[t] = 1;
  a[t + 8] = 2;  // FAULT out_of_bounds
  __syncthreads();
  y[t] = a[t] + b[t];
}
CASE(into_the_next) { into_the_next_k<<<1, 32>>>(zeros<float>(32)); }

__global__ void by_pointer_k(float* y) {
  __shared__ float a[32];
  float* p = a + 16;
  p[threadIdx.x] = 2;  // FAULT out_of_bounds
  __syncthreads();
  y[threadIdx.x] = a[threadIdx.x];
}
CASE(by_pointer) { by_pointer_k<<<1, 32>>>(zeros<float>(32)); }

__global__ void odd_reduction_k(const float* x, float* y) {
  __shared__ float s[100];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 64; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // FAULT out_of_bounds
    __syncthreads();
  }
  if (t == 0) *y = s[0];
}
CASE(odd_reduction) { odd_reduction_k<<<1, 100>>>(floats(100), zeros<float>(1)); }

__global__ void shared_bytes_k(unsigned char* y) {
  __shared__ unsigned char s[50];
  s[threadIdx.x] = 1;  // FAULT out_of_bounds
  __syncthreads();
  y[threadIdx.x] = s[0];
}
CASE(shared_bytes) { shared_bytes_k<<<1, 51>>>(zeros<unsigned char>(64)); }

// --- out of bounds: device variables, local arrays ---------------------------------------------------------------------
__device__ float weights[16];
__global__ void device_array_k(float* y) {
  y[threadIdx.x] = weights[threadIdx.x];  // FAULT out_of_bounds
}
CASE(device_array) { device_array_k<<<1, 17>>>(zeros<float>(17)); }

__constant__ float taps[5];
__global__ void constant_array_k(float* y, int radius) {
  float sum = 0;
  for (int i = -radius; i <= radius; ++i) sum += taps[i + radius];  // FAULT out_of_bounds
  y[threadIdx.x] = sum;
}
CASE(constant_array) { constant_array_k<<<1, 4>>>(zeros<float>(4), 3); }

__global__ void local_array_k(const float* x, float* y, int k) {
  float best[4];
  for (int i = 0; i <= k; ++i) best[i] = x[i];  // FAULT out_of_bounds
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += best[i];
  y[threadIdx.x] = sum;
}
CASE(local_array) { local_array_k<<<1, 4>>>(floats(8), zeros<float>(4), 4); }

__global__ void local_negative_k(const int* x, int* y) {
  int count[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  count[x[threadIdx.x] - 5]++;  // FAULT out_of_bounds
  y[threadIdx.x] = count[3];
}
CASE(local_negative) { local_negative_k<<<1, 1>>>(zeros<int>(1), zeros<int>(1)); }

__global__ void local_rows_k(float* y, int m) {
  float c[2][4];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < 4; ++j) c[i][j] = i + j;  // FAULT out_of_bounds
  y[threadIdx.x] = c[1][3] + c[0][1];
}
CASE(local_rows) { local_rows_k<<<1, 4>>>(zeros<float>(4), 3); }

__global__ void local_unrolled_k(float* y) {
  float c[4];
#pragma unroll
  for (int j = 0; j < 5; ++j) c[j] = y[j];  // FAULT out_of_bounds
  y[threadIdx.x] = c[0] + c[1] + c[2] + c[3];
}
CASE(local_unrolled) { local_unrolled_k<<<1, 1>>>(zeros<float>(8)); }

// --- races in shared memory --------------------------------------------------------------------------------------------
__global__ void no_barrier_k(const float* x, float* y) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];         // FAULT race
  y[t] = s[255 - t];   // FAULT race
}
CASE(no_barrier) { no_barrier_k<<<1, 256>>>(floats(256), zeros<float>(256)); }

__global__ void tile_reuse_k(const float* a, const float* b, float* c, int n) {
  __shared__ float as[8][8], bs[8][8];
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += 8) {
    as[y][x] = a[y * n + k + x];    // FAULT race
    bs[y][x] = b[(k + y) * 8 + x];  // FAULT race
    __syncthreads();
    for (int j = 0; j < 8; ++j)
      sum += as[y][j] * bs[j][x];  // FAULT race
  }
  c[y * 8 + x] = sum;
}
CASE(tile_reuse) { tile_reuse_k<<<1, dim3(8, 8)>>>(floats(8 * 32), floats(8 * 32), zeros<float>(64), 32); }

__global__ void tile_unsynced_k(const float* a, float* c, int n) {
  __shared__ float as[8][8];
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += 8) {
    as[y][x] = a[y * n + k + x];                       // FAULT race
    for (int j = 0; j < 8; ++j) sum += as[y][j];       // FAULT race
    __syncthreads();
  }
  c[y * 8 + x] = sum;
}
CASE(tile_unsynced) { tile_unsynced_k<<<1, dim3(8, 8)>>>(floats(8 * 32), zeros<float>(64), 32); }

__global__ void reduction_unsynced_k(const float* x, float* y) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1)
    if (t < d) s[t] += s[t + d];  // FAULT race
  if (t == 0) *y = s[0];
}
CASE(reduction_unsynced) { reduction_unsynced_k<<<1, 256>>>(floats(256), zeros<float>(1)); }

__global__ void warp_tail_k(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t] + x[t + 64];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];                   // FAULT race
    s[t] += s[t + 16];  // FAULT race
    s[t] += s[t + 8];   // FAULT race
    s[t] += s[t + 4];   // FAULT race
    s[t] += s[t + 2];   // FAULT race
    s[t] += s[t + 1];   // FAULT race
  }
  if (t == 0) *y = s[0];
}
CASE(warp_tail) { warp_tail_k<<<1, 64>>>(floats(128), zeros<float>(1)); }

__global__ void double_buffer_k(const float* x, float* y, int steps) {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  s[0][t] = x[t];
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    int from = k & 1;
    s[from ^ 1][t] = s[from][(t + 1) % 64] + 1;  // FAULT race
  }
  y[t] = s[steps & 1][t];
}
CASE(double_buffer) { double_buffer_k<<<1, 64>>>(floats(64), zeros<float>(64), 4); }

__global__ void single_buffer_scan_k(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    if (t >= d) s[t] += s[t - d];  // FAULT race
    __syncthreads();
  }
  y[t] = s[t];
}
CASE(single_buffer_scan) { single_buffer_scan_k<<<1, 128>>>(floats(128), zeros<float>(128)); }

__global__ void warp_barrier_only_k(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];        // FAULT race
  __syncwarp();
  y[t] = s[127 - t];  // FAULT race
}
CASE(warp_barrier_only) { warp_barrier_only_k<<<1, 128>>>(floats(128), zeros<float>(128)); }

__global__ void half_mask_k(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];                                  // FAULT race
  __syncwarp(t < 16 ? 0x0000ffffu : 0xffff0000u);
  y[t] = s[(t + 16) % 32];                      // FAULT race
}
CASE(half_mask) { half_mask_k<<<1, 32>>>(floats(32), zeros<float>(32)); }

__global__ void counter_unready_k(const int* x, int* y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;                  // FAULT race
  if (x[threadIdx.x] > 40) atomicAdd(&count, 1);    // FAULT race
  __syncthreads();
  if (threadIdx.x == 0) *y = count;
}
CASE(counter_unready) { counter_unready_k<<<1, 128>>>(ints(128), zeros<int>(1)); }

__global__ void shared_sum_k(const float* x, float* y) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  sum += x[threadIdx.x];  // FAULT race
  __syncthreads();
  if (threadIdx.x == 0) *y = sum;
}
CASE(shared_sum) { shared_sum_k<<<1, 64>>>(floats(64), zeros<float>(1)); }

__global__ void transpose_unsynced_k(const float* x, float* y) {
  __shared__ float tile[16][17];
  int c = threadIdx.x, r = threadIdx.y;
  tile[r][c] = x[r * 16 + c];  // FAULT race
  y[r * 16 + c] = tile[c][r];  // FAULT race
}
CASE(transpose_unsynced) { transpose_unsynced_k<<<1, dim3(16, 16)>>>(floats(256), zeros<float>(256)); }

__global__ void broadcast_unsynced_k(const float* x, float* y) {
  __shared__ float first;
  if (threadIdx.x == 0) first = x[0];                     // FAULT race
  y[threadIdx.x] = x[threadIdx.x] - first;                // FAULT race
}
CASE(broadcast_unsynced) { broadcast_unsynced_k<<<1, 96>>>(floats(96), zeros<float>(96)); }

__global__ void broadcast_reuse_k(const float* x, float* y, int rows) {
  __shared__ float total;
  int t = threadIdx.x;
  for (int r = 0; r < rows; ++r) {
    if (t == 0) total = x[r];       // FAULT race
    __syncthreads();
    y[r * 64 + t] = total + t;      // FAULT race
  }
}
CASE(broadcast_reuse) { broadcast_reuse_k<<<1, 64>>>(floats(8), zeros<float>(512), 8); }

__global__ void different_values_k(int* y) {
  __shared__ int winner;
  winner = threadIdx.x;  // FAULT race
  __syncthreads();
  if (threadIdx.x == 0) *y = winner;
}
CASE(different_values) { different_values_k<<<1, 64>>>(zeros<int>(1)); }

__global__ void shared_maximum_k(const int* x, int* y) {
  __shared__ int most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  if (x[threadIdx.x] > most) most = x[threadIdx.x];  // FAULT race
  __syncthreads();
  if (threadIdx.x == 0) *y = most;
}
CASE(shared_maximum) { shared_maximum_k<<<1, 96>>>(ints(96), zeros<int>(1)); }

__global__ void byte_flags_k(unsigned char* y) {
  __shared__ unsigned char s[64];
  s[threadIdx.x] = threadIdx.x;                             // FAULT race
  y[threadIdx.x] = s[(threadIdx.x + 1) % 64];               // FAULT race
}
CASE(byte_flags) { byte_flags_k<<<1, 64>>>(zeros<unsigned char>(64)); }

__global__ void half_words_k(const float* x, float* y) {
  __shared__ __half s[64];
  s[threadIdx.x] = __float2half(x[threadIdx.x]);             // FAULT race
  y[threadIdx.x] = __half2float(s[threadIdx.x ^ 33]);        // FAULT race
}
CASE(half_words) { half_words_k<<<1, 64>>>(floats(64), zeros<float>(64)); }

__device__ float3 plus(float3 a, float3 b) {
  return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
__global__ void structures_unsynced_k(const float* x, float* y) {
  __shared__ float3 s[64];
  int t = threadIdx.x;
  s[t] = make_float3(x[t], 1, 2);            // FAULT race
  if (t < 32) s[t] = plus(s[t], s[t + 32]);  // FAULT race
  if (t == 0) *y = s[0].x;
}
CASE(structures_unsynced) { structures_unsynced_k<<<1, 64>>>(floats(64), zeros<float>(1)); }

struct Best {
  float value;
  int index, pad[4];
};
__device__ Best better(const Best& a, const Best& b) {
  return a.value >= b.value ? a : b;  // FAULT race
}
__global__ void best_unsynced_k(const float* x, int* y) {
  __shared__ Best s[64];
  int t = threadIdx.x;
  s[t] = Best{x[t], t, {0, 0, 0, 0}};
  __syncthreads();
  for (int d = 32; d > 0; d /= 2)
    if (t < d) s[t] = better(s[t], s[t + d]);  // FAULT race
  if (t == 0) *y = s[0].index;
}
CASE(best_unsynced) { best_unsynced_k<<<1, 64>>>(floats(64), zeros<int>(1)); }

__global__ void partials_unsynced_k(const float* x, float* y) {
  __shared__ float partial[4];
  float v = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;                            // FAULT race
  if (threadIdx.x == 0) *y = partial[0] + partial[1] + partial[2] + partial[3];        // FAULT race
}
CASE(partials_unsynced) { partials_unsynced_k<<<1, 128>>>(floats(128), zeros<float>(1)); }

// --- races in global memory -----------------------------------------------------------------------------------------------
__global__ void accumulator_k(const float* x, float* y) {
  y[0] += x[blockIdx.x * blockDim.x + threadIdx.x];  // FAULT race
}
CASE(accumulator) { accumulator_k<<<4, 1>>>(floats(4), zeros<float>(1)); }

__global__ void neighbour_block_k(const float* x, float* y, float* z) {
  int i = blockIdx.x * 64 + threadIdx.x;
  y[i] = 2 * x[i];              // FAULT race
  __syncthreads();
  z[i] = y[(i + 64) % 256];     // FAULT race
}
CASE(neighbour_block) { neighbour_block_k<<<4, 64>>>(floats(256), zeros<float>(256), zeros<float>(256)); }

__global__ void last_block_unfenced_k(const float* x, float* partial, unsigned* count, float* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    last = atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += partial[i];  // FAULT race
    *y = sum;
  }
}
CASE(last_block_unfenced) {
  last_block_unfenced_k<<<8, 32>>>(floats(8), zeros<float>(8), zeros<unsigned>(1), zeros<float>(1));
}

__global__ void fence_of_a_block_k(const float* x, float* partial, unsigned* count, float* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence_block();
    last = atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += partial[i];  // FAULT race
    *y = sum;
  }
}
CASE(fence_of_a_block) {
  fence_of_a_block_k<<<8, 32>>>(floats(8), zeros<float>(8), zeros<unsigned>(1), zeros<float>(1));
}

__global__ void fence_too_early_k(const float* x, float* partial, unsigned* count, float* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    partial[blockIdx.x] = x[blockIdx.x];
    last = atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += partial[i];  // FAULT race
    *y = sum;
  }
}
CASE(fence_too_early) {
  fence_too_early_k<<<8, 32>>>(floats(8), zeros<float>(8), zeros<unsigned>(1), zeros<float>(1));
}

__global__ void barrier_forgotten_k(const float* x, float* partial, unsigned* count, float* y) {
  __shared__ bool last;
  partial[blockIdx.x * 64 + threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x * 64; ++i) sum += partial[i];  // FAULT race
    *y = sum;
  }
}
CASE(barrier_forgotten) {
  barrier_forgotten_k<<<4, 64>>>(floats(64), zeros<float>(256), zeros<unsigned>(1), zeros<float>(1));
}

__global__ void stencil_in_place_k(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;  // FAULT race
}
CASE(stencil_in_place) { stencil_in_place_k<<<4, 64>>>(floats(256), 256); }

__global__ __attribute__((no_sanitize("thread"))) void unwatched_k(float* y) {
  y[0] += threadIdx.x;  // FAULT race
}
CASE(unwatched) { unwatched_k<<<1, 32>>>(zeros<float>(1)); }

__global__ void plain_histogram_k(const int* x, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bins[x[i] % 16]++;  // FAULT race
}
CASE(plain_histogram) { plain_histogram_k<<<2, 64>>>(ints(128), zeros<int>(16), 128); }

__global__ void overlapping_blocks_k(float* y) {
  y[blockIdx.x * 60 + threadIdx.x] = blockIdx.x * 64 + threadIdx.x;  // FAULT race
}
CASE(overlapping_blocks) { overlapping_blocks_k<<<4, 64>>>(zeros<float>(256)); }

__global__ void lock_unfenced_k(int* lock, int* total) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *total = *total + blockIdx.x + 1;  // FAULT race
    atomicExch(lock, 0);
  }
}
CASE(lock_unfenced) { lock_unfenced_k<<<8, 32>>>(zeros<int>(1), zeros<int>(1)); }

__global__ void split_k_k(const float* a, const float* b, float* c) {
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += a[blockIdx.x * 16 + k] * b[(blockIdx.x * 16 + k) * 32 + threadIdx.x];
  c[threadIdx.x] += sum;  // FAULT race
}
CASE(split_k) { split_k_k<<<4, 32>>>(floats(64), floats(64 * 32), zeros<float>(32)); }

__global__ void block_sums_k(const float* x, float* sums, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = x[i];
  __syncthreads();
  if (t == 0) {
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += s[k];
    sums[blockIdx.x] = sum;                              // FAULT race
  }
  __syncthreads();
  float before = 0;
  for (int b = 0; b < blockIdx.x; ++b) before += sums[b];  // FAULT race
  y[i] = before + s[t];
}
CASE(block_sums) { block_sums_k<<<4, 64>>>(floats(256), zeros<float>(4), zeros<float>(256)); }

__global__ void plain_and_atomic_k(const int* x, int* y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i == 0) *y = 100;   // FAULT race
  atomicAdd(y, x[i]);     // FAULT race
}
CASE(plain_and_atomic) { plain_and_atomic_k<<<4, 32>>>(ints(128), zeros<int>(1)); }

__global__ void global_maximum_k(const int* x, int* most) {
  int v = x[blockIdx.x * 32 + threadIdx.x];
  if (v > *most) *most = v;  // FAULT race
}
CASE(global_maximum) { global_maximum_k<<<4, 32>>>(ints(128), zeros<int>(1)); }

__device__ int device_total;
__global__ void device_variable_k(const int* x) {
  device_total += x[threadIdx.x];  // FAULT race
}
CASE(device_variable) { device_variable_k<<<1, 32>>>(ints(32)); }

__global__ void flag_unfenced_k(int* data, volatile int* flag, int* y) {
  if (blockIdx.x == 0) {
    *data = 42;
    *flag = 1;  // FAULT race
  } else {
    int seen = *flag;      // FAULT race
    if (seen) *y = *data;  // FAULT race
  }
}
CASE(flag_unfenced) { flag_unfenced_k<<<2, 1>>>(zeros<int>(1), zeros<int>(1), zeros<int>(1)); }

__global__ void permutation_clash_k(const int* target, float* y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  y[target[i]] = i;  // FAULT race
}
CASE(permutation_clash) { permutation_clash_k<<<2, 32>>>(filled<int>(64, 40, 0), zeros<float>(64)); }

// --- barriers and warp operations that not all take part in ------------------------------------------------------------------
__global__ void copies_clash_k(const float* x, float* y) {
  memcpy(y, x + threadIdx.x * 32, 32 * sizeof(float));  // FAULT race
}
CASE(copies_clash) { copies_clash_k<<<1, 2>>>(floats(64), zeros<float>(32)); }

__global__ void conditional_barrier_k(float* y) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = t;
  if (t < 128) {
    __syncthreads();  // FAULT deadlock
  }
  y[t] = s[t] + 1;
}
CASE(conditional_barrier) { conditional_barrier_k<<<1, 256>>>(zeros<float>(256)); }

__global__ void barrier_in_reduction_k(const float* x, float* y) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) {
      s[t] += s[t + d];
      __syncthreads();  // FAULT deadlock
    }
  }
  if (t == 0) *y = s[0];
}
CASE(barrier_in_reduction) { barrier_in_reduction_k<<<1, 256>>>(floats(256), zeros<float>(1)); }

__global__ void both_branches_k(float* y) {
  if (threadIdx.x % 2) {
    y[threadIdx.x] = 1;
    __syncthreads();  // FAULT deadlock
  } else {
    y[threadIdx.x] = 2;
    __syncthreads();  // FAULT deadlock
  }
}
CASE(both_branches) { both_branches_k<<<1, 64>>>(zeros<float>(64)); }

__global__ void barrier_in_loop_k(float* y, int n) {
  __shared__ float s[64];
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    s[threadIdx.x] = i;
    __syncthreads();  // FAULT deadlock
    y[i] = s[threadIdx.x];
  }
}
CASE(barrier_in_loop) { barrier_in_loop_k<<<1, 64>>>(zeros<float>(200), 200); }

__global__ void barrier_in_guard_k(const float* x, float* y, int n) {
  __shared__ float s[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) {
    s[threadIdx.x] = x[i];
    __syncthreads();  // FAULT deadlock
    y[i] = s[threadIdx.x] + s[0];
  }
}
CASE(barrier_in_guard) { barrier_in_guard_k<<<2, 128>>>(floats(200), zeros<float>(200), 200); }

__global__ void other_barrier_k(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
  if (threadIdx.x < 32) __syncthreads();  // FAULT deadlock
  s[threadIdx.x] += 1;
  __syncthreads();  // FAULT deadlock
  y[threadIdx.x] = s[threadIdx.x];
}
CASE(other_barrier) { other_barrier_k<<<1, 64>>>(zeros<float>(64)); }

__global__ void shuffle_or_barrier_k(float* y) {
  float v = threadIdx.x;
  if (threadIdx.x < 16)
    v += __shfl_down_sync(0xffffffffu, v, 8);  // FAULT deadlock
  else
    __syncthreads();  // FAULT deadlock
  y[threadIdx.x] = v;
}
CASE(shuffle_or_barrier) { shuffle_or_barrier_k<<<1, 32>>>(zeros<float>(32)); }

__global__ void shuffles_differ_k(float* y) {
  float v = threadIdx.x;
  if (threadIdx.x < 16)
    v = __shfl_down_sync(0xffffffffu, v, 8);  // FAULT deadlock
  else
    v = __shfl_xor_sync(0xffffffffu, v, 1);  // FAULT deadlock
  y[threadIdx.x] = v;
}
CASE(shuffles_differ) { shuffles_differ_k<<<1, 32>>>(zeros<float>(32)); }

__global__ void vote_then_barrier_k(int* y) {
  int t = threadIdx.x;
  unsigned mask = 0;
  if (t < 20) mask = __ballot_sync(0xffffffffu, t & 1);  // FAULT deadlock
  __syncthreads();                                       // FAULT deadlock
  y[t] = mask;
}
CASE(vote_then_barrier) { vote_then_barrier_k<<<1, 32>>>(zeros<int>(32)); }

__global__ void return_after_k(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 32) __syncthreads();  // FAULT deadlock
  if (threadIdx.x != 0) return;
  y[0] = s[1];
}
CASE(return_after) { return_after_k<<<1, 64>>>(zeros<float>(1)); }

// --- never written ----------------------------------------------------------------------------------------------------------
__global__ void half_written_k(float* y) {
  __shared__ float s[64];
  if (threadIdx.x < 32) s[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];  // FAULT uninitialised
}
CASE(half_written) { half_written_k<<<1, 64>>>(zeros<float>(64)); }

__global__ void dynamic_unwritten_k(float* y) {
  extern __shared__ float buffer[];
  if (threadIdx.x > 0) buffer[threadIdx.x] = 1;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += buffer[i];  // FAULT uninitialised
  y[threadIdx.x] = sum;
}
CASE(dynamic_unwritten) { dynamic_unwritten_k<<<1, 32, 128>>>(zeros<float>(32)); }

