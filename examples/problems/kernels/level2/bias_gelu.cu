/*
Add a bias to every row and apply the tanh approximation of GELU, in one pass: with `v = x[r][c] + bias[c]`,
`y[r][c] = 0.5 * v * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 * v^3)))`.

in x float32 [rows, cols] normal 0 2
in bias float32 [cols]
out y float32 [rows, cols]
sizes rows,cols = 1,1 3,4 7,129 33,1000
benchmark 256,1024
tolerance 1e-4
wrong wrong_answer: bias[at % cols] => bias[at / cols % cols]
wrong wrong_answer: 0.044715f * v * v * v => 0.044715f * v * v
*/
#include <cmath>

void reference(const float* x, const float* bias, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      const double v = double(x[r * cols + c]) + bias[c];
      y[r * cols + c] = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    }
}

// solution
__global__ void bias_gelu(const float* x, const float* bias, float* y, size_t count, int cols) {
  for (size_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (size_t)blockDim.x * gridDim.x) {
    float v = x[at] + bias[at % cols];
    float inner = 0.7978845608f * (v + 0.044715f * v * v * v);
    y[at] = 0.5f * v * (1.0f + tanhf(inner));
  }
}

void solve(const float* x, const float* bias, float* y, int rows, int cols) {
  bias_gelu<<<32, 256>>>(x, bias, y, (size_t)rows * cols, cols);
}
