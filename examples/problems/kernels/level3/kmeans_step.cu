/*
One step of Lloyd's k-means. Every point gets the label of the centre with the smallest squared Euclidean distance, the one
with the smaller index if several are equally near. All coordinates are small integers, so that distances are exact in
float. Then every centre moves to the mean of the points with its label; a centre without points stays where it is.
Results: `label`, and the new centres in `moved`.

in point float32 [n, dim] integers -8 8
in centre float32 [k, dim] integers -8 8
out label int32 [n]
out moved float32 [k, dim]
sizes n,dim,k = 1,1,1 20,2,30 300,3,5 1000,17,9
benchmark 8192,8,16
tolerance 1e-4
wrong wrong_answer: distance < nearest => distance <= nearest
wrong nonfinite: count[j] > 0 ? moved[at] / count[j] : centre[at] => moved[at] / count[j]
*/
#include <vector>

void reference(const float* point, const float* centre, int* label, float* moved, int n, int dim, int k) {
  std::vector<double> sum(k * dim);
  std::vector<int> count(k);
  for (int i = 0; i < n; ++i) {
    double nearest = -1;
    for (int j = 0; j < k; ++j) {
      double distance = 0;
      for (int d = 0; d < dim; ++d) {
        const double difference = point[i * dim + d] - centre[j * dim + d];
        distance += difference * difference;
      }
      if (nearest < 0 || distance < nearest) {
        nearest = distance;
        label[i] = j;
      }
    }
    ++count[label[i]];
    for (int d = 0; d < dim; ++d) sum[label[i] * dim + d] += point[i * dim + d];
  }
  for (int at = 0; at < k * dim; ++at) moved[at] = count[at / dim] ? sum[at] / count[at / dim] : centre[at];
}

// solution
__global__ void assign(const float* point, const float* centre, int* label, float* moved, int* count, int n,
                       int dim, int k) {
  extern __shared__ float c[];
  for (int i = threadIdx.x; i < k * dim; i += blockDim.x) c[i] = centre[i];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float nearest = INFINITY;
  int best = 0;
  for (int j = 0; j < k; ++j) {
    float distance = 0.0f;
    for (int d = 0; d < dim; ++d) {
      float difference = point[i * dim + d] - c[j * dim + d];
      distance += difference * difference;
    }
    if (distance < nearest) {
      nearest = distance;
      best = j;
    }
  }
  label[i] = best;
  atomicAdd(&count[best], 1);
  for (int d = 0; d < dim; ++d) atomicAdd(&moved[best * dim + d], point[i * dim + d]);
}

__global__ void average(const float* centre, const int* count, float* moved, int dim, int k) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= k * dim) return;
  int j = at / dim;
  moved[at] = count[j] > 0 ? moved[at] / count[j] : centre[at];
}

void solve(const float* point, const float* centre, int* label, float* moved, int n, int dim, int k) {
  int* count;
  cudaMalloc(&count, k * sizeof(int));
  cudaMemset(count, 0, k * sizeof(int));
  cudaMemset(moved, 0, k * dim * sizeof(float));
  assign<<<(n + 127) / 128, 128, k * dim * sizeof(float)>>>(point, centre, label, moved, count, n, dim, k);
  average<<<(k * dim + 127) / 128, 128>>>(centre, count, moved, dim, k);
  cudaFree(count);
}
