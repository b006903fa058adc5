/*
Scaled dot-product attention of one head: with `s[i][j] = (q_i . k_j) / sqrt(dim)` for the rows of q and k,
`o_i = sum_j softmax(s_i)_j * v_j`. q has `queries` rows, k and v have `keys` rows, all of dim elements. dim is at most 64.

in q float32 [queries, dim] normal 0 2
in k float32 [keys, dim] normal 0 2
in v float32 [keys, dim]
out o float32 [queries, dim]
sizes queries,keys,dim = 1,1,1 5,7,16 33,65,32 16,129,50
benchmark 64,128,64
tolerance 1e-3
wrong wrong_answer: rsqrtf((float)dim) => 1.0f / dim
wrong race|wrong_answer|nondeterministic: __syncthreads();  // all scores are there => // all scores are there
*/
#include <algorithm>
#include <cmath>
#include <vector>

void reference(const float* q, const float* k, const float* v, float* o, int queries, int keys, int dim) {
  std::vector<double> p(keys);
  for (int i = 0; i < queries; ++i) {
    for (int j = 0; j < keys; ++j) {
      p[j] = 0;
      for (int d = 0; d < dim; ++d) p[j] += double(q[i * dim + d]) * k[j * dim + d];
      p[j] /= std::sqrt(dim);
    }
    const double largest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& value : p) sum += value = std::exp(value - largest);
    for (int d = 0; d < dim; ++d) {
      double mix = 0;
      for (int j = 0; j < keys; ++j) mix += p[j] * v[j * dim + d];
      o[i * dim + d] = mix / sum;
    }
  }
}

// solution
// A block a query; the scores of all keys lie in shared memory.
__global__ void attention(const float* q, const float* k, const float* v, float* o, int keys, int dim) {
  extern __shared__ float score[];
  __shared__ float largest, total;
  const float* mine = q + blockIdx.x * dim;
  float scale = rsqrtf((float)dim);
  for (int j = threadIdx.x; j < keys; j += blockDim.x) {
    float s = 0.0f;
    for (int d = 0; d < dim; ++d) s += mine[d] * k[j * dim + d];
    score[j] = s * scale;
  }
  __syncthreads();  // all scores are there
  if (threadIdx.x < 32) {
    float m = -INFINITY, sum = 0.0f;
    for (int j = threadIdx.x; j < keys; j += 32) m = fmaxf(m, score[j]);
    for (int step = 16; step; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, step));
    for (int j = threadIdx.x; j < keys; j += 32) sum += __expf(score[j] - m);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) {
      largest = m;
      total = sum;
    }
  }
  __syncthreads();
  for (int d = threadIdx.x; d < dim; d += blockDim.x) {
    float mix = 0.0f;
    for (int j = 0; j < keys; ++j) mix += __expf(score[j] - largest) * v[j * dim + d];
    o[blockIdx.x * dim + d] = mix / total;
  }
}

void solve(const float* q, const float* k, const float* v, float* o, int queries, int keys, int dim) {
  attention<<<queries, 64, keys * sizeof(float)>>>(q, k, v, o, keys, dim);
}
