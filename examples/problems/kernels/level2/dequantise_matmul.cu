/*
Matrix product with weights in bytes: `y[i][j] = scale[j] * sum_k x[i][k] * (w[j][k] - zero[j])`. w has one row of `depth`
bytes for every output column, with its own scale and zero point.

in x float32 [rows, depth]
in w uint8 [cols, depth]
in scale float32 [cols] uniform 0.005 0.02
in zero uint8 [cols] integers 100 150
out y float32 [rows, cols]
sizes rows,cols,depth = 1,1,1 3,5,64 17,33,100 2,65,257
benchmark 32,128,256
tolerance 1e-3
wrong wrong_answer: (float)w[j * depth + k] - offset => (float)(unsigned char)(w[j * depth + k] - zero[j])
wrong race|wrong_answer|nondeterministic: __syncthreads();  // x is loaded => // x is loaded
*/
void reference(const float* x, const unsigned char* w, const float* scale, const unsigned char* zero,
               float* y, int rows, int cols, int depth) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += double(x[i * depth + k]) * (w[j * depth + k] - zero[j]);
      y[i * cols + j] = scale[j] * sum;
    }
}

// solution
// A block takes one row of x, kept in shared memory, and 64 columns.
__global__ void dequantise_matmul(const float* __restrict__ x, const unsigned char* __restrict__ w,
                                  const float* __restrict__ scale, const unsigned char* __restrict__ zero,
                                  float* __restrict__ y, int cols, int depth) {
  extern __shared__ float row[];
  int i = blockIdx.y;
  for (int k = threadIdx.x; k < depth; k += blockDim.x) row[k] = x[i * depth + k];
  __syncthreads();  // x is loaded
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= cols) return;
  float offset = zero[j];
  float sum = 0.0f;
  for (int k = 0; k < depth; ++k) sum = fmaf(row[k], (float)w[j * depth + k] - offset, sum);
  y[i * cols + j] = scale[j] * sum;
}

void solve(const float* x, const unsigned char* w, const float* scale, const unsigned char* zero, float* y,
           int rows, int cols, int depth) {
  dim3 grid((cols + 63) / 64, rows);
  dequantise_matmul<<<grid, 64, depth * sizeof(float)>>>(x, w, scale, zero, y, cols, depth);
}
