/*
One step of an LSTM. For every row of the batch, `z = x W + h U + b` has 4 * hidden elements: the gates i, f, g, o, in this
order, hidden elements each. Then `c_new = sigmoid(f) * c + sigmoid(i) * tanh(g)` and `h_new = sigmoid(o) * tanh(c_new)`, with
`sigmoid(t) = 1 / (1 + exp(-t))`. W has inner x 4*hidden elements, U hidden x 4*hidden.

in x float32 [batch, inner]
in h float32 [batch, hidden] uniform -1 1
in c float32 [batch, hidden]
in W float32 [inner, 4*hidden] normal 0 0.3
in U float32 [hidden, 4*hidden] normal 0 0.3
in b float32 [4*hidden]
out h_new float32 [batch, hidden]
out c_new float32 [batch, hidden]
sizes batch,inner,hidden = 1,1,1 3,5,33 7,40,16 20,9,50
benchmark 32,32,64
tolerance 1e-3
wrong wrong_answer: sigmoid(z[1]) * c[at] => sigmoid(z[0]) * c[at]
wrong wrong_answer: gate < 4 => gate < 3
*/
#include <cmath>
#include <vector>

static double sigmoid_of(double t) {
  return 1 / (1 + std::exp(-t));
}

void reference(const float* x, const float* h, const float* c, const float* W, const float* U, const float* b,
               float* h_new, float* c_new, int batch, int inner, int hidden) {
  std::vector<double> z(4 * hidden);
  for (int r = 0; r < batch; ++r) {
    for (int j = 0; j < 4 * hidden; ++j) {
      z[j] = b[j];
      for (int i = 0; i < inner; ++i) z[j] += double(x[r * inner + i]) * W[i * 4 * hidden + j];
      for (int i = 0; i < hidden; ++i) z[j] += double(h[r * hidden + i]) * U[i * 4 * hidden + j];
    }
    for (int j = 0; j < hidden; ++j) {
      const double cell =
          sigmoid_of(z[hidden + j]) * c[r * hidden + j] + sigmoid_of(z[j]) * std::tanh(z[2 * hidden + j]);
      c_new[r * hidden + j] = cell;
      h_new[r * hidden + j] = sigmoid_of(z[3 * hidden + j]) * std::tanh(cell);
    }
  }
}

// solution
__device__ __forceinline__ float sigmoid(float t) {
  return 1.0f / (1.0f + __expf(-t));
}

// A thread a hidden unit; x and h of the row lie in shared memory, one behind the other.
__global__ void lstm_cell(const float* x, const float* h, const float* c, const float* W, const float* U,
                          const float* b, float* h_new, float* c_new, int inner, int hidden) {
  extern __shared__ float state[];
  float* x_row = state;
  float* h_row = state + inner;
  int r = blockIdx.y;
  for (int i = threadIdx.x; i < inner; i += blockDim.x) x_row[i] = x[r * inner + i];
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) h_row[i] = h[r * hidden + i];
  __syncthreads();
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= hidden) return;
  float z[4] = {b[j], b[hidden + j], b[2 * hidden + j], b[3 * hidden + j]};
  for (int i = 0; i < inner; ++i)
    for (int gate = 0; gate < 4; ++gate) z[gate] += x_row[i] * W[(i * 4 + gate) * hidden + j];
  for (int i = 0; i < hidden; ++i)
#pragma unroll
    for (int k = 0; k < 4; ++k) z[k] += h_row[i] * U[(i * 4 + k) * hidden + j];
  int at = r * hidden + j;
  float cell = sigmoid(z[1]) * c[at] + sigmoid(z[0]) * tanhf(z[2]);
  c_new[at] = cell;
  h_new[at] = sigmoid(z[3]) * tanhf(cell);
}

void solve(const float* x, const float* h, const float* c, const float* W, const float* U, const float* b,
           float* h_new, float* c_new, int batch, int inner, int hidden) {
  dim3 grid((hidden + 63) / 64, batch);
  lstm_cell<<<grid, 64, (inner + hidden) * sizeof(float)>>>(x, h, c, W, U, b, h_new, c_new, inner, hidden);
}
