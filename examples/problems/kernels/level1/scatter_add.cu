/*
Add values to places of an array, in place: for each i in 0..m-1, `y[index[i]] += v[i]`. Indices repeat; the other
elements of y keep their value.

inout y float32 [n]
in index int32 [m] integers 0 n-1
in v float32 [m] uniform 0 1
sizes n,m = 1,1 5,200 1000,10 257,5000
benchmark 4096,65536
tolerance 1e-4
wrong race|wrong_answer: atomicAdd(&y[index[i]], v[i]) => y[index[i]] += v[i]
wrong wrong_answer: atomicAdd(&y[index[i]], v[i]) => atomicExch(&y[index[i]], v[i])
*/
#include <vector>

void reference(float* y, const int* index, const float* v, int n, int m) {
  std::vector<double> sum(y, y + n);
  for (int i = 0; i < m; ++i) sum[index[i]] += v[i];
  for (int j = 0; j < n; ++j) y[j] = sum[j];
}

// solution
__global__ void scatter_add(float* y, const int* index, const float* v, int m) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (unsigned)m) atomicAdd(&y[index[i]], v[i]);
}

void solve(float* y, const int* index, const float* v, int n, int m) {
  scatter_add<<<(m + 63) / 64, 64>>>(y, index, v, m);
}
