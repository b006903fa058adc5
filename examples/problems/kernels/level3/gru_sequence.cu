/*
Run a GRU over a sequence, for one layer and a batch. At every time t, with h the state from the time before,
`r = sigmoid(xr + h Ur)`, `u = sigmoid(xu + h Uu)`, `n = tanh(xn + r * (h Un))` and `h = (1 - u) * n + u * h`, where the
products with the parts of U are matrix products and `*` is element by element. The input parts are given: x[t][b] holds
xr, xu, xn behind each other, hidden elements each. U has hidden x 3*hidden elements; the columns of Ur, Uu and Un follow
each other. h0[b] is the state before the first step; `y[t][b]` is the state after step t. hidden is at most 64.

in x float32 [steps, batch, 3*hidden]
in U float32 [hidden, 3*hidden] normal 0 0.3
in h0 float32 [batch, hidden] uniform -1 1
out y float32 [steps, batch, hidden]
sizes steps,batch,hidden = 1,1,1 3,4,33 9,2,16 5,3,64
benchmark 16,8,64
tolerance 1e-3
wrong race|wrong_answer|nondeterministic: __syncthreads();  // everyone has read the old state => // everyone has read the old state
wrong wrong_answer: tanhf(in[2 * hidden + j] + r * sn) => tanhf(in[2 * hidden + j] + sn)
*/
#include <cmath>
#include <vector>

void reference(const float* x, const float* U, const float* h0, float* y, int steps, int batch, int hidden) {
  const auto sigmoid_of = [](double t) { return 1 / (1 + std::exp(-t)); };
  for (int b = 0; b < batch; ++b) {
    std::vector<double> h(h0 + b * hidden, h0 + (b + 1) * hidden), z(3 * hidden);
    for (int t = 0; t < steps; ++t) {
      const float* in = x + (t * batch + b) * 3 * hidden;
      for (int j = 0; j < 3 * hidden; ++j) {
        z[j] = 0;
        for (int i = 0; i < hidden; ++i) z[j] += h[i] * U[i * 3 * hidden + j];
      }
      for (int j = 0; j < hidden; ++j) {
        const double r = sigmoid_of(in[j] + z[j]), u = sigmoid_of(in[hidden + j] + z[hidden + j]);
        const double n = std::tanh(in[2 * hidden + j] + r * z[2 * hidden + j]);
        h[j] = (1 - u) * n + u * h[j];
        y[(t * batch + b) * hidden + j] = h[j];
      }
    }
  }
}

// solution
// A block a sequence: the state stays in shared memory over all steps.
__global__ void gru(const float* x, const float* U, const float* h0, float* y, int steps, int batch,
                    int hidden) {
  __shared__ float h[64];
  int b = blockIdx.x, j = threadIdx.x;
  bool active = j < hidden;
  if (active) h[j] = h0[b * hidden + j];
  __syncthreads();
  for (int t = 0; t < steps; ++t) {
    const float* in = x + (t * batch + b) * 3 * hidden;
    float next = 0.0f;
    if (active) {
      float sr = 0.0f, su = 0.0f, sn = 0.0f;
      for (int i = 0; i < hidden; ++i) {
        const float* row = U + i * 3 * hidden + j;
        sr += h[i] * row[0];
        su += h[i] * row[hidden];
        sn += h[i] * row[2 * hidden];
      }
      float r = 1.0f / (1.0f + expf(-(in[j] + sr)));
      float u = 1.0f / (1.0f + expf(-(in[hidden + j] + su)));
      float n = tanhf(in[2 * hidden + j] + r * sn);
      next = (1.0f - u) * n + u * h[j];
    }
    __syncthreads();  // everyone has read the old state
    if (active) {
      h[j] = next;
      y[(t * batch + b) * hidden + j] = next;
    }
    __syncthreads();
  }
}

void solve(const float* x, const float* U, const float* h0, float* y, int steps, int batch, int hidden) {
  gru<<<batch, 64>>>(x, U, h0, y, steps, batch, hidden);
}
