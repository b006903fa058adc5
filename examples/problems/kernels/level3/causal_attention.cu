/*
Causal self-attention of several heads. q, k, v and the result have [heads, n, dim] elements, dim is at most 64. In every
head, position i attends to the positions j <= i only: `o_i = sum_{j<=i} p_ij * v_j`, where p_i is the softmax over
j <= i of `(q_i . k_j) / sqrt(dim)`.

in q float32 [heads, n, dim] normal 0 2
in k float32 [heads, n, dim] normal 0 2
in v float32 [heads, n, dim]
out o float32 [heads, n, dim]
sizes heads,n,dim = 1,1,1 2,9,16 1,65,32 3,40,64
benchmark 2,64,64
tolerance 1e-3
wrong wrong_answer: j <= i => j < n
wrong wrong_answer: acc[0] = acc[0] * shrink => acc[0] = acc[0]
*/
#include <cmath>
#include <vector>

void reference(const float* q, const float* k, const float* v, float* o, int heads, int n, int dim) {
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < n; ++i) {
      const float* query = q + (h * n + i) * dim;
      std::vector<double> mix(dim), p(i + 1);
      double largest = -INFINITY, sum = 0;
      for (int j = 0; j <= i; ++j) {
        for (int d = 0; d < dim; ++d) p[j] += double(query[d]) * k[(h * n + j) * dim + d] / std::sqrt(dim);
        largest = std::fmax(largest, p[j]);
      }
      for (int j = 0; j <= i; ++j) sum += p[j] = std::exp(p[j] - largest);
      for (int j = 0; j <= i; ++j)
        for (int d = 0; d < dim; ++d) mix[d] += p[j] / sum * v[(h * n + j) * dim + d];
      for (int d = 0; d < dim; ++d) o[(h * n + i) * dim + d] = mix[d];
    }
}

// solution
// A warp a query. The softmax is kept online: a new largest score shrinks what has been summed up so far.
__global__ void causal_attention(const float* q, const float* k, const float* v, float* o, int n, int dim) {
  int lane = threadIdx.x;
  int i = blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= n) return;
  size_t head = (size_t)blockIdx.y * n * dim;
  q += head;
  k += head;
  v += head;
  o += head;
  float scale = 1.0f / sqrtf((float)dim);
  float mine[2], acc[2] = {0.0f, 0.0f};
  for (int part = 0; part < 2; ++part)
    mine[part] = lane + 32 * part < dim ? q[i * dim + lane + 32 * part] : 0.0f;
  float largest = -INFINITY, sum = 0.0f;
  for (int j = 0; j <= i; ++j) {
    float s = 0.0f;
    for (int part = 0; part < 2; ++part)
      if (lane + 32 * part < dim) s += mine[part] * k[j * dim + lane + 32 * part];
    for (int step = 16; step > 0; step >>= 1) s += __shfl_xor_sync(0xffffffff, s, step);
    s *= scale;
    float top = fmaxf(largest, s);
    float shrink = __expf(largest - top), p = __expf(s - top);
    sum = sum * shrink + p;
    if (lane < dim) acc[0] = acc[0] * shrink + p * v[j * dim + lane];
    if (lane + 32 < dim) acc[1] = acc[1] * shrink + p * v[j * dim + lane + 32];
    largest = top;
  }
  for (int part = 0; part < 2; ++part)
    if (lane + 32 * part < dim) o[i * dim + lane + 32 * part] = acc[part] / sum;
}

void solve(const float* q, const float* k, const float* v, float* o, int heads, int n, int dim) {
  causal_attention<<<dim3((n + 3) / 4, heads), dim3(32, 4)>>>(q, k, v, o, n, dim);
}
