/*
The feed-forward block of a modern transformer, all in one: for every row, `n = x / sqrt(mean(x^2) + 1e-6) * scale`
(element by element), `g = n G` and `u = n U` with G and U of dim x hidden elements, `a = g / (1 + exp(-g)) * u`, and
`y = x + a D` with D of hidden x dim elements.

in x float32 [rows, dim] normal 0 2
in scale float32 [dim] uniform 0.5 1.5
in G float32 [dim, hidden] normal 0 0.3
in U float32 [dim, hidden] normal 0 0.3
in D float32 [hidden, dim] normal 0 0.3
out y float32 [rows, dim]
sizes rows,dim,hidden = 1,1,1 3,16,40 9,33,20 2,100,64
benchmark 32,64,128
tolerance 1e-3
wrong wrong_answer: float sum = x[at]; => float sum = 0.0f;
wrong wrong_answer: squares / dim + 1e-6f => squares + 1e-6f
*/
#include <cmath>
#include <vector>

void reference(const float* x, const float* scale, const float* G, const float* U, const float* D, float* y,
               int rows, int dim, int hidden) {
  std::vector<double> n(dim), a(hidden);
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    for (int d = 0; d < dim; ++d) squares += double(x[r * dim + d]) * x[r * dim + d];
    for (int d = 0; d < dim; ++d) n[d] = x[r * dim + d] / std::sqrt(squares / dim + 1e-6) * scale[d];
    for (int j = 0; j < hidden; ++j) {
      double g = 0, u = 0;
      for (int d = 0; d < dim; ++d) {
        g += n[d] * G[d * hidden + j];
        u += n[d] * U[d * hidden + j];
      }
      a[j] = g / (1 + std::exp(-g)) * u;
    }
    for (int d = 0; d < dim; ++d) {
      double sum = x[r * dim + d];
      for (int j = 0; j < hidden; ++j) sum += a[j] * D[j * dim + d];
      y[r * dim + d] = sum;
    }
  }
}

// solution
namespace {

constexpr int kThreads = 128;

__global__ void normalise(const float* x, const float* scale, float* n, int dim) {
  __shared__ float squares;
  if (threadIdx.x == 0) squares = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int d = threadIdx.x; d < dim; d += kThreads) sum += x[blockIdx.x * dim + d] * x[blockIdx.x * dim + d];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(&squares, sum);
  __syncthreads();
  float factor = rsqrtf(squares / dim + 1e-6f);
  for (int d = threadIdx.x; d < dim; d += kThreads)
    n[blockIdx.x * dim + d] = x[blockIdx.x * dim + d] * factor * scale[d];
}

__global__ void gate(const float* n, const float* G, const float* U, float* a, int dim, int hidden) {
  int j = blockIdx.x * kThreads + threadIdx.x, r = blockIdx.y;
  if (j >= hidden) return;
  float g = 0.0f, u = 0.0f;
  for (int d = 0; d < dim; ++d) {
    g = fmaf(n[r * dim + d], G[d * hidden + j], g);
    u = fmaf(n[r * dim + d], U[d * hidden + j], u);
  }
  a[r * hidden + j] = g / (1.0f + expf(-g)) * u;
}

__global__ void down(const float* x, const float* a, const float* D, float* y, int dim, int hidden) {
  int d = blockIdx.x * kThreads + threadIdx.x, r = blockIdx.y;
  if (d >= dim) return;
  int at = r * dim + d;
  float sum = x[at];
  for (int j = 0; j < hidden; ++j) sum = fmaf(a[r * hidden + j], D[j * dim + d], sum);
  y[at] = sum;
}

}  // namespace

void solve(const float* x, const float* scale, const float* G, const float* U, const float* D, float* y,
           int rows, int dim, int hidden) {
  float* n;
  float* a;
  cudaMallocAsync((void**)&n, rows * dim * sizeof(float), 0);
  cudaMallocAsync((void**)&a, rows * hidden * sizeof(float), 0);
  normalise<<<rows, kThreads>>>(x, scale, n, dim);
  gate<<<dim3((hidden + kThreads - 1) / kThreads, rows), kThreads>>>(n, G, U, a, dim, hidden);
  down<<<dim3((dim + kThreads - 1) / kThreads, rows), kThreads>>>(x, a, D, y, dim, hidden);
  cudaFreeAsync(n, 0);
  cudaFreeAsync(a, 0);
}
