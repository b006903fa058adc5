/*
A two-layer perceptron: `h = relu(x W1 + b1)`, `y = h W2 + b2`, where x has rows x inner elements, W1 inner x hidden, W2
hidden x outer, and the biases are added to every row.

in x float32 [rows, inner]
in W1 float32 [inner, hidden] normal 0 0.3
in b1 float32 [hidden]
in W2 float32 [hidden, outer] normal 0 0.3
in b2 float32 [outer]
out y float32 [rows, outer]
sizes rows,inner,hidden,outer = 1,1,1,1 2,3,100,9 5,7,33,3 17,40,20,65
benchmark 32,64,128,64
tolerance 1e-3
wrong wrong_answer: apply_relu ? fmaxf(sum, 0.0f) : sum => fmaxf(sum, 0.0f)
wrong race|wrong_answer|nondeterministic: __syncthreads();  // tiles are loaded => // tiles are loaded
*/
#include <algorithm>
#include <vector>

void reference(const float* x, const float* W1, const float* b1, const float* W2, const float* b2, float* y,
               int rows, int inner, int hidden, int outer) {
  std::vector<double> h(hidden);
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < hidden; ++j) {
      h[j] = b1[j];
      for (int i = 0; i < inner; ++i) h[j] += double(x[r * inner + i]) * W1[i * hidden + j];
      h[j] = std::max(h[j], 0.0);
    }
    for (int j = 0; j < outer; ++j) {
      double sum = b2[j];
      for (int i = 0; i < hidden; ++i) sum += h[i] * W2[i * outer + j];
      y[r * outer + j] = sum;
    }
  }
}

// solution
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                  \
  do {                                                               \
    cudaError_t error = (call);                                      \
    if (error != cudaSuccess) {                                      \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      exit(1);                                                       \
    }                                                                \
  } while (0)

const int TILE = 16;

template <bool apply_relu>
__global__ void linear(const float* x, const float* w, const float* bias, float* y, int rows, int inner,
                       int cols) {
  __shared__ float xs[TILE][TILE], ws[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  float sum = col < cols ? bias[col] : 0.0f;
  for (int first = 0; first < inner; first += TILE) {
    xs[ty][tx] = row < rows && first + tx < inner ? x[row * inner + first + tx] : 0.0f;
    ws[ty][tx] = first + ty < inner && col < cols ? w[(first + ty) * cols + col] : 0.0f;
    __syncthreads();  // tiles are loaded
    for (int i = 0; i < TILE; ++i) sum += xs[ty][i] * ws[i][tx];
    __syncthreads();
  }
  if (row < rows && col < cols) y[row * cols + col] = apply_relu ? fmaxf(sum, 0.0f) : sum;
}

void solve(const float* x, const float* W1, const float* b1, const float* W2, const float* b2, float* y,
           int rows, int inner, int hidden, int outer) {
  float* h = nullptr;
  CHECK(cudaMalloc((void**)&h, sizeof(float) * rows * hidden));
  dim3 block(TILE, TILE);
  dim3 first((hidden + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  dim3 second((outer + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  linear<true><<<first, block>>>(x, W1, b1, h, rows, inner, hidden);
  CHECK(cudaGetLastError());
  linear<false><<<second, block>>>(h, W2, b2, y, rows, hidden, outer);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(h));
}
