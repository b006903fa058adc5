/*
One decoding step of grouped-query attention with a cache. There are `batch` sequences; sequence b has one new query for
each of `kv_heads * group` heads, q[b][head], and its cache holds keys and values for `length[b]` positions (1 or more)
of the `slots` that are reserved. Query head h uses the key and value head `h / group`. With scores
`(q[b][h] . k[b][h / group][j]) / sqrt(dim)` for j < length[b], the result o[b][h] is the mix of the values weighted by
their softmax. What stands in the cache from position length[b] on must not matter. dim is at most 64.

in q float32 [batch, kv_heads*group, dim] normal 0 2
in k float32 [batch, kv_heads, slots, dim] normal 0 2
in v float32 [batch, kv_heads, slots, dim]
in length int32 [batch] integers 1 slots
out o float32 [batch, kv_heads*group, dim]
sizes batch,kv_heads,group,slots,dim = 1,1,1,1,4 3,2,3,33,16 2,1,8,70,64 5,2,1,20,40
benchmark 4,2,4,128,64
tolerance 1e-3
wrong wrong_answer: head / group => head % kv_heads
wrong wrong_answer: j < n; j += blockDim.y => j < slots; j += blockDim.y
*/
#include <cmath>
#include <vector>

void reference(const float* q, const float* k, const float* v, const int* length, float* o, int batch,
               int kv_heads, int group, int slots, int dim) {
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < kv_heads * group; ++h) {
      const int row = b * kv_heads * group + h, cache = (b * kv_heads + h / group) * slots;
      std::vector<double> p(length[b]), mix(dim);
      double largest = -INFINITY, sum = 0;
      for (int j = 0; j < length[b]; ++j) {
        for (int d = 0; d < dim; ++d)
          p[j] += double(q[row * dim + d]) * k[(cache + j) * dim + d] / std::sqrt(dim);
        largest = std::fmax(largest, p[j]);
      }
      for (double& value : p) sum += value = std::exp(value - largest);
      for (int j = 0; j < length[b]; ++j)
        for (int d = 0; d < dim; ++d) mix[d] += p[j] / sum * v[(cache + j) * dim + d];
      for (int d = 0; d < dim; ++d) o[row * dim + d] = mix[d];
    }
}

// solution
constexpr int kWarps = 4;
constexpr int kMaxDim = 64;

// Four warps share the positions of one head; their partial results are merged at the end.
__global__ void decode(const float* q, const float* k, const float* v, const int* length, float* o,
                       int kv_heads, int group, int slots, int dim) {
  __shared__ float part[kWarps][kMaxDim], top[kWarps], weight[kWarps];
  int lane = threadIdx.x, warp = threadIdx.y;
  int head = blockIdx.x, b = blockIdx.y;
  int n = length[b];
  const float* query = q + (b * kv_heads * group + head) * dim;
  const size_t cache = (size_t)(b * kv_heads + head / group) * slots * dim;
  float a0 = 0, a1 = 0, largest = -INFINITY, sum = 0;
  for (int j = warp; j < n; j += blockDim.y) {
    const float* key = k + cache + j * dim;
    const float* value = v + cache + j * dim;
    float s = 0;
    for (int d = lane; d < dim; d += 32) s += query[d] * key[d];
    for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffffu, s, step);
    s *= rsqrtf(dim);
    float m = fmaxf(largest, s);
    float keep = expf(largest - m), p = expf(s - m);
    sum = sum * keep + p;
    a0 = a0 * keep + (lane < dim ? p * value[lane] : 0);
    a1 = a1 * keep + (lane + 32 < dim ? p * value[lane + 32] : 0);
    largest = m;
  }
  part[warp][lane] = a0;
  part[warp][lane + 32] = a1;
  if (lane == 0) {
    top[warp] = largest;
    weight[warp] = sum;
  }
  __syncthreads();
  if (warp > 0) return;
  largest = fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3]));
  sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += weight[w] * expf(top[w] - largest);
  for (int d = lane; d < dim; d += 32) {
    float mix = 0;
    for (int w = 0; w < kWarps; ++w) mix += part[w][d] * expf(top[w] - largest);
    o[(b * kv_heads * group + head) * dim + d] = mix / sum;
  }
}

void solve(const float* q, const float* k, const float* v, const int* length, float* o, int batch,
           int kv_heads, int group, int slots, int dim) {
  dim3 grid(kv_heads * group, batch), block(32, kWarps);
  decode<<<grid, block>>>(q, k, v, length, o, kv_heads, group, slots, dim);
}
