/*
The largest value of each group: `y[g]` is the maximum of all `x[i]` with `group[i] == g`, for g in 0..groups-1, and -inf
for a group without values. The groups are in no order, x has values of both signs. (There is no atomicMax for float;
find another way.)

in x float32 [n] normal -1 3
in group int32 [n] integers 0 groups-1
out y float32 [groups]
sizes n,groups = 1,1 10,20 1000,7 5000,999
benchmark 65536,512
tolerance 1e-6
wrong wrong_answer|nonfinite: value > __int_as_float(seen) => __float_as_int(value) > seen
wrong wrong_answer: y[g] = -INFINITY => y[g] = 0.0f
*/
#include <cmath>

void reference(const float* x, const int* group, float* y, int n, int groups) {
  for (int g = 0; g < groups; ++g) y[g] = -INFINITY;
  for (int i = 0; i < n; ++i) y[group[i]] = std::fmax(y[group[i]], x[i]);
}

// solution
__device__ void atomic_max(float* address, float value) {
  int* word = reinterpret_cast<int*>(address);
  int seen = *word;
  while (value > __int_as_float(seen)) {
    int assumed = seen;
    seen = atomicCAS(word, assumed, __float_as_int(value));
    if (seen == assumed) break;
  }
}

__global__ void clear(float* y, int groups) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g < groups) y[g] = -INFINITY;
}

__global__ void scatter_max(const float* x, const int* group, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(y + group[i], x[i]);
}

void solve(const float* x, const int* group, float* y, int n, int groups) {
  clear<<<(groups + 127) / 128, 128>>>(y, groups);
  scatter_max<<<(n + 127) / 128, 128>>>(x, group, y, n);
}
