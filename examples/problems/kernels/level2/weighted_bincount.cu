/*
Weighted counts per bin and row: `y[r][b]` is the sum of `weight[r][i]` over the i with `bin[r][i] == b`. Ids outside
0..bins-1 (there are some, negative ones too) are ignored. There are at most 256 bins.

in bin int32 [rows, n] integers -2 bins+1
in weight float32 [rows, n] uniform 0.5 1.5
out y float32 [rows, bins]
sizes rows,n,bins = 1,1,1 3,100,7 5,1000,256 2,4097,10
benchmark 32,4096,64
tolerance 1e-4
wrong out_of_bounds|wrong_answer|race|crash: if (b >= 0 && b < bins) => if (b < bins)
wrong race|wrong_answer|nondeterministic: __syncthreads();  // the sums are complete => // the sums are complete
*/
#include <vector>

void reference(const int* bin, const float* weight, float* y, int rows, int n, int bins) {
  for (int r = 0; r < rows; ++r) {
    std::vector<double> sum(bins);
    for (int i = 0; i < n; ++i) {
      const int b = bin[r * n + i];
      if (b >= 0 && b < bins) sum[b] += weight[r * n + i];
    }
    for (int b = 0; b < bins; ++b) y[r * bins + b] = sum[b];
  }
}

// solution
__global__ void bincount(const int* bin, const float* weight, float* y, int n, int bins) {
  extern __shared__ float sum[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) sum[b] = 0.0f;
  __syncthreads();
  bin += blockIdx.x * n;
  weight += blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int b = bin[i];
    if (b >= 0 && b < bins) atomicAdd(&sum[b], weight[i]);
  }
  __syncthreads();  // the sums are complete
  for (int b = threadIdx.x; b < bins; b += blockDim.x) y[blockIdx.x * bins + b] = sum[b];
}

void solve(const int* bin, const float* weight, float* y, int rows, int n, int bins) {
  bincount<<<rows, 256, bins * sizeof(float)>>>(bin, weight, y, n, bins);
}
