/*
Softmax cross-entropy of every row: `loss[r] = log(sum_c exp(logits[r][c])) - logits[r][label[r]]`. A label of -100
means that the row does not count: its loss is 0. All other labels are in 0..classes-1. Logits may be as large as
200, where exp overflows in float.

in logits float32 [rows, classes] normal 100 30
in label int32 [rows] choice -100 0 1 2 3
out loss float32 [rows]
sizes rows,classes = 20,4 9,33 33,1000 2,5001
benchmark 256,2000
tolerance 1e-4
wrong out_of_bounds|wrong_answer: if (label[r] == -100) => if (label[r] == -1)
wrong wrong_answer|nonfinite: logf(sum) + largest - => logf(sum) -
*/
#include <algorithm>
#include <cmath>

void reference(const float* logits, const int* label, float* loss, int rows, int classes) {
  for (int r = 0; r < rows; ++r) {
    const float* row = logits + r * classes;
    const double largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
    loss[r] = label[r] == -100 ? 0 : std::log(sum) + largest - row[label[r]];
  }
}

// solution
// Each thread keeps a running maximum and a sum relative to it; pairs are merged in shared memory.
__global__ void cross_entropy(const float* logits, const int* label, float* loss, int classes) {
  __shared__ float2 state[128];
  int r = blockIdx.x;
  if (label[r] == -100) {
    if (threadIdx.x == 0) loss[r] = 0.0f;
    return;
  }
  const float* row = logits + (size_t)r * classes;
  float largest = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) {
    float v = row[c];
    if (v > largest) {
      sum = sum * __expf(largest - v) + 1.0f;
      largest = v;
    } else {
      sum += __expf(v - largest);
    }
  }
  state[threadIdx.x] = make_float2(largest, sum);
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      float2 a = state[threadIdx.x], b = state[threadIdx.x + half];
      float m = fmaxf(a.x, b.x);
      float s = (a.y > 0 ? a.y * __expf(a.x - m) : 0.0f) + (b.y > 0 ? b.y * __expf(b.x - m) : 0.0f);
      state[threadIdx.x] = make_float2(m, s);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    largest = state[0].x;
    sum = state[0].y;
    loss[r] = logf(sum) + largest - row[label[r]];
  }
}

void solve(const float* logits, const int* label, float* loss, int rows, int classes) {
  cross_entropy<<<rows, 128>>>(logits, label, loss, classes);
}
