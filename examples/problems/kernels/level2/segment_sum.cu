/*
Sum values by segment: `y[s]` is the sum of all `v[i]` with `segment[i] == s`, for s in 0..segments-1. The ids in
`segment` are sorted in ascending order; a segment may be empty (its sum is 0) or hold most of the values.

in v float32 [n] uniform 0 1
in segment int32 [n] integers 0 segments-1 sorted
out y float32 [segments]
sizes n,segments = 0,3 1,1 100,7 5000,3 1000,2000
benchmark 32768,500
tolerance 1e-4
wrong wrong_answer|no_output: cudaMemset(y, 0, segments * sizeof(float)); =>
wrong wrong_answer: if (other_id == id && lane + step < 32) => if (lane + step < 32)
*/
#include <vector>

void reference(const float* v, const int* segment, float* y, int n, int segments) {
  std::vector<double> sum(segments);
  for (int i = 0; i < n; ++i) sum[segment[i]] += v[i];
  for (int s = 0; s < segments; ++s) y[s] = sum[s];
}

// solution
// Neighbouring lanes of one segment add up first; the first lane of each run does the atomic.
__global__ void segment_sum(const float* v, const int* segment, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  int id = i < n ? segment[i] : -1;
  float sum = i < n ? v[i] : 0.0f;
  for (int step = 1; step < 32; step <<= 1) {
    float other = __shfl_down_sync(0xffffffff, sum, step);
    int other_id = __shfl_down_sync(0xffffffff, id, step);
    if (other_id == id && lane + step < 32) sum += other;
  }
  int before = __shfl_up_sync(0xffffffff, id, 1);
  if (id >= 0 && (lane == 0 || before != id)) atomicAdd(y + id, sum);
}

void solve(const float* v, const int* segment, float* y, int n, int segments) {
  cudaMemset(y, 0, segments * sizeof(float));
  segment_sum<<<n / 256 + 1, 256>>>(v, segment, y, n);
}
