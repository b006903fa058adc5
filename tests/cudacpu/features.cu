// wmma, curand, libcu++, half precision, cooperative groups, inline PTX, atomics, graphs.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <curand_kernel.h>
#include <mma.h>
#include "test.h"
namespace cg = cooperative_groups;
using namespace nvcuda;

__global__ void tensor(const half* a, const half* b, float* c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * n + k, n);
    wmma::load_matrix_sync(fb, b + blockIdx.x * 16 * n + k, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] *= 2.0f;
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, fc, n, wmma::mem_row_major);
}
__global__ void draws(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState s;
  curand_init(1234, i, 0, &s);
  curandStatePhilox4_32_10_t p;
  curand_init(7ull, i, 0, &p);
  out[i] = curand_normal(&s);
  out[n + i] = curand_uniform(&p);
}
__global__ void cg_all(int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  auto warp = cg::tiled_partition<32>(block);
  int v = block.thread_rank();
  int sum = cg::reduce(tile, v, cg::plus<int>());
  int scan = cg::inclusive_scan(warp, 1);
  int most = cg::reduce(warp, v, cg::greater<int>());
  out[v] = sum * 10000 + scan * 100 + most;
  cg::thread_group dynamic = cg::tiled_partition(block, 4);
  dynamic.sync();
  out[64 + v] = dynamic.thread_rank() + tile.meta_group_rank() * 10;
  block.sync();
  if (v % 3 == 0) {
    auto active = cg::coalesced_threads();
    out[128 + v] = active.size() * 100 + active.thread_rank();
    int total = cg::reduce(active, 1, cg::plus<int>());
    if (active.thread_rank() == 0) out[192 + v / 32] = total;
  }
}
__global__ void grid_wide(int* data, int* out) {
  cg::grid_group grid = cg::this_grid();
  __shared__ int mine;
  if (threadIdx.x == 0) mine = blockIdx.x;
  __syncthreads();
  data[grid.thread_rank()] = grid.thread_rank();
  grid.sync();
  int n = grid.size();
  int other = data[(grid.thread_rank() + blockDim.x) % n];
  grid.sync();
  out[grid.thread_rank()] = other + 1000 * mine;
}
__device__ unsigned ticket;
__global__ void last_block(const int* in, int* partial, int* out, int n) {
  __shared__ bool last;
  __shared__ int s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int o = 32; o; o /= 2) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) { int t = 0; for (int b = 0; b < gridDim.x; ++b) t += ((volatile int*)partial)[b]; *out = t; }
}
__global__ void wait_for_previous(volatile int* flag, int* order) {
  // Block b waits for block b - 1, whatever the order they begin in.
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0) while (atomicAdd((int*)&flag[blockIdx.x - 1], 0) == 0) {}
    order[blockIdx.x] = blockIdx.x == 0 ? 1 : order[blockIdx.x - 1] + 1;
    __threadfence();
    atomicExch((int*)&flag[blockIdx.x], 1);
  }
}
__global__ void lock(int* mutex, int* counter) {
  for (bool done = false; !done;) {
    if (atomicCAS(mutex, 0, 1) == 0) { __threadfence(); *counter += 1; __threadfence(); atomicExch(mutex, 0); done = true; }
  }
}
__global__ void halves(const __half* x, const __half2* x2, __half* y, __half2* y2, __nv_bfloat16* z, float* f) {
  int i = threadIdx.x;
  half a = x[i];
  y[i] = __hfma(a, __float2half(2.0f), __float2half(1.0f));
  y2[i] = __hadd2(x2[i], __half2half2(a));
  z[i] = __float2bfloat16(__half2float(a) + 1.0f);
  f[i] = __low2float(y2[i]) + __bfloat162float(z[i]) + float(hexp(a)) + (a > __float2half(0.5f) ? 1.0f : 0.0f);
  half sum = a;
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  if (i == 0) atomicAdd(&f[32], __half2float(sum));
}
__global__ void ptx(unsigned* out, const float* in, float* fout) {
  unsigned lane, r;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  float v, w;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(in + threadIdx.x));
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(w) : "f"(v), "f"(2.0f), "f"(1.0f));
  asm("{\n\t add.u32 %0, %1, 5;\n\t}" : "=r"(r) : "r"(lane));
  float4 q;
  asm volatile("ld.global.cs.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w) : "l"(in));
  out[threadIdx.x] = r;
  fout[threadIdx.x] = w + q.w;
  __shared__ __align__(16) float s[128];
  unsigned at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(in + threadIdx.x % 8 * 4));
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  asm volatile("bar.sync 0;");
  fout[32 + threadIdx.x] = s[(threadIdx.x * 4 + 5) % 128];
}
__global__ void libcu(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  auto token = bar.arrive();
  bar.wait(token);
  int v = s[63 - threadIdx.x];
  bar.arrive_and_wait();
  cuda::atomic_ref<int, cuda::thread_scope_device> total(out[0]);
  total.fetch_add(v, cuda::memory_order_relaxed);
  __shared__ float staged[64];
  __pipeline_memcpy_async(&staged[threadIdx.x], &((float*)out)[64 + threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
__global__ void votes(unsigned* out, const int* in) {
  int v = in[threadIdx.x];
  unsigned b = __ballot_sync(~0u, v > 3);
  unsigned m = __match_any_sync(~0u, v);
  int pred;
  __match_all_sync(~0u, v, &pred);
  out[threadIdx.x] = b;
  out[32 + threadIdx.x] = m;
  out[64 + threadIdx.x] = __any_sync(~0u, v == 7) + 2 * __all_sync(~0u, v < 8) + 4 * pred;
  out[96 + threadIdx.x] = __reduce_add_sync(~0u, (unsigned)v) + 1000 * __reduce_max_sync(~0u, v);
  if (threadIdx.x < 8) out[128 + threadIdx.x] = __shfl_down_sync(0xffu, v, 1, 8) + __popc(__activemask()) * 100;
  int c = __syncthreads_count(v == 0), o = __syncthreads_or(v == 9), a = __syncthreads_and(v < 8);
  if (threadIdx.x == 0) out[140] = c * 100 + o * 10 + a;
  double d = __shfl_xor_sync(~0u, double(v), 1);
  long long l = __shfl_up_sync(~0u, (long long)v << 40, 1);
  out[160 + threadIdx.x] = unsigned(d) * 10 + unsigned(l >> 40);
}

int main() {
  {
    const int n = 32;
    Buffer<half> a(n * n), b(n * n);
    Buffer<float> c(n * n);
    for (int i = 0; i < n * n; ++i) { a.host[i] = __float2half((i % 7) * 0.25f); b.host[i] = __float2half((i % 5) - 2.0f); }
    a.up(); b.up();
    tensor<<<dim3(2, 2), 32>>>(a.device, b.device, c.device, n);
    c.down();
    for (int r = 0; r < n; ++r)
      for (int s = 0; s < n; ++s) {
        float want = 0;
        for (int k = 0; k < n; ++k) want += ((r * n + k) % 7) * 0.25f * ((s * n + k) % 5 - 2.0f);
        EXPECT(near(c.host[r * n + s], 2 * want));
      }
  }
  {
    Buffer<float> out(8192);
    draws<<<32, 128>>>(out.device, 4096);
    out.down();
    double mean = 0, square = 0, uniform = 0;
    for (int i = 0; i < 4096; ++i) { mean += out.host[i]; square += out.host[i] * out.host[i]; uniform += out.host[4096 + i]; }
    EXPECT(std::fabs(mean / 4096) < 0.05 && std::fabs(square / 4096 - 1) < 0.1 && std::fabs(uniform / 4096 - 0.5) < 0.02);
  }
  {
    Buffer<int> out(256);
    cg_all<<<1, 64>>>(out.device);
    out.down();
    EXPECT(out.host[0] == 28 * 10000 + 100 + 31 && out.host[63] == (56 + 57 + 58 + 59 + 60 + 61 + 62 + 63) * 10000 + 3200 + 63);
    EXPECT(out.host[64 + 13] == 1 + 10 && out.host[128 + 33] == 1100 && out.host[192] == 11);
  }
  {
    Buffer<int> data(256), out(256);
    int *d = data.device, *o = out.device;
    void* arguments[] = {&d, &o};
    EXPECT(cudaLaunchCooperativeKernel((void*)grid_wide, 8, 32, arguments) == cudaSuccess);
    out.down();
    for (int i = 0; i < 256; ++i) EXPECT(out.host[i] == (i + 32) % 256 + 1000 * (i / 32));
  }
  {
    Buffer<int> in(1000), partial(16), out(1);
    for (int i = 0; i < 1000; ++i) in.host[i] = i;
    in.up();
    for (int k = 0; k < 2; ++k) {
      last_block<<<16, 64>>>(in.device, partial.device, out.device, 1000);
      out.down();
      EXPECT(out.host[0] == 499500);
    }
    partial.set(0);
    Buffer<int> order(16);
    wait_for_previous<<<16, 32>>>(partial.device, order.device);
    order.down();
    EXPECT(order.host[15] == 16);
    out.set(0); partial.set(0);
    lock<<<8, 64>>>(partial.device, out.device);
    out.down();
    EXPECT(out.host[0] == 512);
  }
  {
    Buffer<__half> x(32), y(32);
    Buffer<__half2> x2(32), y2(32);
    Buffer<__nv_bfloat16> z(32);
    Buffer<float> f(33);
    for (int i = 0; i < 32; ++i) { x.host[i] = __float2half(i * 0.125f); x2.host[i] = __floats2half2_rn(i, -i); }
    x.up(); x2.up(); f.set(0);
    halves<<<1, 32>>>(x.device, x2.device, y.device, y2.device, z.device, f.device);
    y.down(); y2.down(); z.down(); f.down();
    for (int i = 0; i < 32; ++i) {
      float a = i * 0.125f;
      EXPECT(__half2float(y.host[i]) == 2 * a + 1 && __high2float(y2.host[i]) == a - i);
      EXPECT(near(f.host[i], i + a + (a + 1) + std::exp(a) + (a > 0.5f), 1e-2));
    }
    EXPECT(f.host[32] == 62);
    EXPECT(__half_as_ushort(__float2half(65520.0f)) == 0x7c00 && __half_as_ushort(__float2half(65519.0f)) == 0x7bff);
    EXPECT(__half_as_ushort(__float2half(5.9604645e-8f)) == 1 && __half_as_ushort(__float2half(1.0f + 1.0f / 2048)) == 0x3c00);
    EXPECT(__half_as_ushort(__float2half(1.0f + 3.0f / 2048)) == 0x3c02 && __half_as_ushort(__float2half_rz(1.9999f)) == 0x3fff);
    EXPECT(__bfloat16_as_ushort(__float2bfloat16(1.00390625f)) == 0x3f80 && __bfloat16_as_ushort(__float2bfloat16(1.01171875f)) == 0x3f82);
  }
  {
    Buffer<unsigned> out(32);
    Buffer<float> in(128), fout(64);
    for (int i = 0; i < 128; ++i) in.host[i] = i;
    in.up();
    ptx<<<1, 32>>>(out.device, in.device, fout.device);
    out.down(); fout.down();
    EXPECT(out.host[7] == 12 && fout.host[7] == 15 + 3 && fout.host[32 + 1] == 9);
  }
  {
    Buffer<int> out(128);
    out.set(0);
    libcu<<<1, 64>>>(out.device);
    out.down();
    EXPECT(out.host[0] == 63 * 32);
  }
  {
    Buffer<int> in(32);
    Buffer<unsigned> out(192);
    for (int i = 0; i < 32; ++i) in.host[i] = i % 8;
    in.up();
    votes<<<1, 32>>>(out.device, in.device);
    out.down();
    EXPECT(out.host[0] == 0xf0f0f0f0u && out.host[32 + 3] == 0x08080808u && out.host[64] == 3);
    EXPECT(out.host[96] == 112 + 7000 && out.host[128] == 801 && out.host[135] == 807 && out.host[140] == 401);
    EXPECT(out.host[162] == 3 * 10 + 1 && out.host[160] == 10);
  }
  return done();
}
