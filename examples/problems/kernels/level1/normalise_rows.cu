/*
Divide every row by its Euclidean length, in double precision: `y[r][c] = x[r][c] / sqrt(sum_j x[r][j]^2)`.
A row whose elements are all 0 stays as it is.

in x float64 [rows, cols] choice 0 0 0 1 -2 0.5 3
out y float64 [rows, cols]
sizes rows,cols = 50,1 40,3 7,129 5,1000
benchmark 128,512
tolerance 1e-9
wrong nonfinite: length > 0 ? 1 / length : 1 => 1 / length
wrong wrong_answer: atomicAdd(&squares, mine * mine) => atomicAdd(&squares, fabs(mine))
*/
#include <cmath>

void reference(const double* x, double* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    for (int c = 0; c < cols; ++c) squares += x[r * cols + c] * x[r * cols + c];
    for (int c = 0; c < cols; ++c) y[r * cols + c] = squares > 0 ? x[r * cols + c] / std::sqrt(squares) : 0;
  }
}

// solution
__global__ void normalise(const double* x, double* y, int cols) {
  __shared__ double squares;
  if (threadIdx.x == 0) squares = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    double mine = x[blockIdx.x * cols + c];
    atomicAdd(&squares, mine * mine);
  }
  __syncthreads();
  double length = sqrt(squares);
  double scale = length > 0 ? 1 / length : 1;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] * scale;
}

void solve(const double* x, double* y, int rows, int cols) {
  normalise<<<rows, 96>>>(x, y, cols);
}
