/*
Routing of a mixture of experts: every token goes to the two experts with the largest logits (the first two in descending
order; of equal logits the expert with the smaller index comes first). Their weights are the softmax over these two logits.
`expert[t][0..1]` and `weight[t][0..1]` hold the choice of token t, `load[e]` the number of tokens that chose expert e (as first
or second). There are at least 2 experts.

in logits float32 [tokens, experts] choice -2 -1 -0.5 0 0.25 0.5 1 1.5 2.5
out expert int32 [tokens, 2]
out weight float32 [tokens, 2]
out load int32 [experts]
sizes tokens,experts = 1,2 50,3 33,40 1000,8
benchmark 8192,16
tolerance 1e-4
wrong wrong_answer: v > second => v >= second
wrong race|wrong_answer|nondeterministic: atomicAdd(&load[a], 1); => load[a] += 1;
*/
#include <cmath>

void reference(const float* logits, int* expert, float* weight, int* load, int tokens, int experts) {
  for (int t = 0; t < tokens; ++t) {
    const float* row = logits + t * experts;
    int a = 0;
    for (int e = 1; e < experts; ++e)
      if (row[e] > row[a]) a = e;
    int b = a == 0 ? 1 : 0;
    for (int e = b + 1; e < experts; ++e)
      if (e != a && row[e] > row[b]) b = e;
    expert[2 * t] = a;
    expert[2 * t + 1] = b;
    const double first = 1 / (1 + std::exp(double(row[b]) - row[a]));
    weight[2 * t] = first;
    weight[2 * t + 1] = 1 - first;
    ++load[a];
    ++load[b];
  }
}

// solution
__global__ void route(const float* logits, int2* expert, float2* weight, int* load, int tokens, int experts) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  float first = -INFINITY, second = -INFINITY;
  int a = -1, b = -1;
  for (int e = 0; e < experts; ++e) {
    float v = logits[t * experts + e];
    if (v > first) {
      second = first;
      b = a;
      first = v;
      a = e;
    } else if (v > second) {
      second = v;
      b = e;
    }
  }
  float other = __expf(second - first);
  expert[t] = make_int2(a, b);
  weight[t] = make_float2(1.0f / (1.0f + other), other / (1.0f + other));
  atomicAdd(&load[a], 1);
  atomicAdd(&load[b], 1);
}

void solve(const float* logits, int* expert, float* weight, int* load, int tokens, int experts) {
  cudaMemsetAsync(load, 0, experts * sizeof(int), 0);
  route<<<(tokens + 255) / 256, 256>>>(logits, reinterpret_cast<int2*>(expert),
                                       reinterpret_cast<float2*>(weight), load, tokens, experts);
}
