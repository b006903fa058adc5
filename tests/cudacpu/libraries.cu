// cub: primitives of warps, blocks and the device.
#include <cub/cub.cuh>
#include <algorithm>
#include <numeric>
#include "test.h"

template <int THREADS, int ITEMS>
__global__ void block_primitives(const int* in, int* scanned, int* sorted, int* values, int* sum, int n) {
  using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, THREADS, ITEMS>;
  using Scan = cub::BlockScan<int, THREADS>;
  using Reduce = cub::BlockReduce<int, THREADS>;
  using Sort = cub::BlockRadixSort<int, THREADS, ITEMS, int>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
    typename Sort::TempStorage sort;
  } temp;
  int items[ITEMS], out[ITEMS], ids[ITEMS];
  Load(temp.load).Load(in, items, n, 0);
  __syncthreads();
  int total;
  Scan(temp.scan).ExclusiveSum(items, out, total);
  __syncthreads();
  Store(temp.store).Store(scanned, out, n);
  int s = Reduce(temp.reduce).Sum(items);
  if (threadIdx.x == 0) { sum[0] = s; sum[1] = total; }
  __syncthreads();
  for (int i = 0; i < ITEMS; ++i) ids[i] = threadIdx.x * ITEMS + i;
  Sort(temp.sort).Sort(items, ids);
  Store(temp.store).Store(sorted, items);
  Store(temp.store).Store(values, ids);
}
__global__ void warp_primitives(const float* in, float* out) {
  typedef cub::WarpReduce<float> Reduce;
  typedef cub::WarpScan<float, 16> Scan;
  __shared__ typename Reduce::TempStorage reduce[2];
  __shared__ Scan::TempStorage scan[4];
  float v = in[threadIdx.x];
  float sum = Reduce(reduce[threadIdx.x / 32]).Sum(v);
  float most = Reduce(reduce[threadIdx.x / 32]).Reduce(v, cub::Max());
  float up;
  Scan(scan[threadIdx.x / 16]).InclusiveSum(v, up);
  if (threadIdx.x % 32 == 0) { out[threadIdx.x / 32] = sum; out[2 + threadIdx.x / 32] = most; }
  out[4 + threadIdx.x] = up;
}
struct Running {
  int total;
  __device__ int operator()(int aggregate) { int old = total; total += aggregate; return old; }
};
__global__ void tiles(const int* in, int* out, int n) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ Scan::TempStorage temp;
  Running running{0};
  for (int base = 0; base < n; base += 64) {
    int i = base + threadIdx.x, v = i < n ? in[i] : 0;
    Scan(temp).InclusiveSum(v, v, running);
    __syncthreads();
    if (i < n) out[i] = v;
  }
}
struct Odd { __host__ __device__ bool operator()(int v) const { return v & 1; } };

int main() {
  const int n = 500;
  Buffer<int> in(n), scanned(n), sorted(512), values(512), sum(2);
  for (int i = 0; i < n; ++i) in.host[i] = (i * 37) % 101 - 20;
  in.up();
  block_primitives<128, 4><<<1, 128>>>(in.device, scanned.device, sorted.device, values.device, sum.device, n);
  scanned.down(); sorted.down(); values.down(); sum.down();
  int want = 0;
  for (int i = 0; i < n; ++i) { EXPECT(scanned.host[i] == want); want += in.host[i]; }
  EXPECT(sum.host[0] == want && sum.host[1] == want);
  std::vector<int> padded = in.host; padded.resize(512);
  std::vector<int> order(512); std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return padded[a] < padded[b]; });
  for (int i = 0; i < 512; ++i) EXPECT(sorted.host[i] == padded[order[i]] && values.host[i] == order[i]);
  Buffer<float> f(64), out(68);
  for (int i = 0; i < 64; ++i) f.host[i] = i % 7;
  f.up();
  warp_primitives<<<1, 64>>>(f.device, out.device);
  out.down();
  float s0 = 0, up = 0;
  for (int i = 0; i < 32; ++i) s0 += i % 7;
  for (int i = 16; i <= 20; ++i) up += i % 7;
  EXPECT(out.host[0] == s0 && out.host[2] == 6 && out.host[4 + 20] == up);
  tiles<<<1, 64>>>(in.device, scanned.device, n);
  scanned.down();
  EXPECT(scanned.host[n - 1] == want);

  void* temp = nullptr; size_t bytes = 0;
  cub::DeviceReduce::Sum(temp, bytes, in.device, sum.device, n);
  EXPECT(cudaMalloc(&temp, bytes) == cudaSuccess);
  cub::DeviceReduce::Sum(temp, bytes, in.device, sum.device, n);
  cub::DeviceReduce::Max(temp, bytes, in.device, sum.device + 1, n);
  sum.down();
  EXPECT(sum.host[0] == want && sum.host[1] == *std::max_element(in.host.begin(), in.host.end()));
  cub::DeviceScan::InclusiveSum(temp, bytes, in.device, scanned.device, n);
  scanned.down();
  EXPECT(scanned.host[n - 1] == want);
  cudaFree(temp); temp = nullptr;
  Buffer<float> keys(n), keys_out(n);
  for (int i = 0; i < n; ++i) keys.host[i] = std::sin(i) * 10;
  keys.up();
  cub::DeviceRadixSort::SortPairsDescending(temp, bytes, keys.device, keys_out.device, in.device, scanned.device, n);
  cudaMalloc(&temp, bytes);
  cub::DeviceRadixSort::SortPairsDescending(temp, bytes, keys.device, keys_out.device, in.device, scanned.device, n);
  keys_out.down();
  EXPECT(std::is_sorted(keys_out.host.rbegin(), keys_out.host.rend()));
  cudaFree(temp); temp = nullptr;
  Buffer<int> count(1);
  cub::DeviceSelect::If(temp, bytes, in.device, scanned.device, count.device, n, Odd());
  cudaMalloc(&temp, bytes);
  cub::DeviceSelect::If(temp, bytes, in.device, scanned.device, count.device, n, Odd());
  count.down();
  EXPECT(count.host[0] == std::count_if(in.host.begin(), in.host.end(), Odd()));
  cudaFree(temp);
  leap_cuda::Summary summary;
  leap_cuda::finish(&summary);
  EXPECT(summary.launches == 8 && summary.reports.empty());
  return done();
}
