// thrust: vectors, iterators, algorithms with and without policies.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/execution_policy.h>
#include "test.h"
struct Saxpy { float a; __host__ __device__ float operator()(float x, float y) const { return a * x + y; } };
struct Square { __host__ __device__ float operator()(float x) const { return x * x; } };
struct Odd { __host__ __device__ bool operator()(int x) const { return x & 1; } };
int main() {
  int n = 300;
  thrust::host_vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = i * 7 % 50;
  thrust::device_vector<int> d = h;
  thrust::sort(d.begin(), d.end());
  thrust::host_vector<int> back = d;
  EXPECT(std::is_sorted(back.begin(), back.end()));
  EXPECT(thrust::reduce(d.begin(), d.end()) == std::accumulate(h.begin(), h.end(), 0));
  EXPECT(thrust::reduce(d.begin(), d.end(), 0, thrust::maximum<int>()) == 49);
  thrust::device_vector<float> x(n, 2.0f), y(n);
  thrust::sequence(y.begin(), y.end());
  thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{3});
  EXPECT(y[10] == 16.0f);
  y[3] = 100.0f;
  EXPECT(float(y[3]) == 100.0f);
  EXPECT(thrust::transform_reduce(x.begin(), x.end(), Square(), 0.0f, thrust::plus<float>()) == 4.0f * n);
  EXPECT(thrust::inner_product(x.begin(), x.end(), x.begin(), 0.0f) == 4.0f * n);
  int* raw = thrust::raw_pointer_cast(d.data());
  thrust::device_ptr<int> p = thrust::device_pointer_cast(raw);
  EXPECT(thrust::count(p, p + n, 0) == 6);
  auto kept = thrust::copy_if(thrust::device, raw, raw + n, raw, Odd());
  EXPECT(kept - raw == 150);
  thrust::inclusive_scan(thrust::device, raw, raw + 10, raw);
  thrust::exclusive_scan(thrust::cuda::par.on(0), raw, raw + 10, raw, 5);
  EXPECT(int(p[0]) == 5);
  thrust::device_vector<int> keys(h.begin(), h.end()), ids(n);
  thrust::sequence(thrust::device, ids.begin(), ids.end());
  thrust::stable_sort_by_key(thrust::device, thrust::raw_pointer_cast(keys.data()), thrust::raw_pointer_cast(keys.data()) + n, thrust::raw_pointer_cast(ids.data()), thrust::greater<int>());
  EXPECT(int(keys[0]) == 49);
  thrust::device_vector<int> uk(n), counts(n);
  auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), thrust::make_constant_iterator(1), uk.begin(), counts.begin());
  EXPECT(ends.first - uk.begin() == 50 && int(counts[3]) == 6);
  thrust::for_each(thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin())), thrust::make_zip_iterator(thrust::make_tuple(x.end(), y.end())),
    [] __device__ (auto t) { thrust::get<0>(t) = thrust::get<1>(t) * 2; });
  EXPECT(float(x[10]) == 32.0f);
  auto it = thrust::max_element(y.begin(), y.end());
  EXPECT(it - y.begin() == n - 1);
  thrust::fill(thrust::device, y.begin(), y.end(), 1.5f);
  EXPECT(float(y[7]) == 1.5f);
  EXPECT(thrust::unique(keys.begin(), keys.end()) - keys.begin() == 50);
  thrust::for_each_n(thrust::device, thrust::counting_iterator<int>(0), 10, [raw] __device__ (int i) { raw[i] = i; });
  EXPECT(int(p[9]) == 9);
  thrust::device_vector<float> z(5);
  thrust::copy(y.begin(), y.begin() + 5, z.begin());
  std::vector<float> back2(5);
  thrust::copy(z.begin(), z.end(), back2.begin());
  EXPECT(back2[4] == 1.5f);
  return done();
}
