/*
Inclusive prefix sums along each row: `y[r][c] = x[r][0] + ... + x[r][c]`. Rows have at most 4096 elements.

in x float32 [rows, cols] uniform 0 1
out y float32 [rows, cols]
sizes rows,cols = 1,1 3,256 5,257 2,1500
benchmark 64,1024
tolerance 1e-4
wrong wrong_answer: y[at] = carry + scan[threadIdx.x]; => y[at] = scan[threadIdx.x];
wrong race|wrong_answer|nondeterministic: __syncthreads();  // read before anyone adds => // read before anyone adds
*/
void reference(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < cols; ++c) y[r * cols + c] = sum += x[r * cols + c];
  }
}

// solution
#define THREADS 256

// A block a row, THREADS elements at a time; each round adds what the rounds before had in total.
__global__ void cumsum_kernel(const float* x, float* y, int cols) {
  __shared__ float scan[THREADS];
  float carry = 0.0f;
  for (int first = 0; first < cols; first += THREADS) {
    int c = first + threadIdx.x;
    int at = blockIdx.x * cols + c;
    scan[threadIdx.x] = c < cols ? x[at] : 0.0f;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
      float before = threadIdx.x >= step ? scan[threadIdx.x - step] : 0.0f;
      __syncthreads();  // read before anyone adds
      scan[threadIdx.x] += before;
      __syncthreads();
    }
    if (c < cols) y[at] = carry + scan[threadIdx.x];
    carry += scan[THREADS - 1];
    __syncthreads();
  }
}

void solve(const float* x, float* y, int rows, int cols) {
  cumsum_kernel<<<rows, THREADS>>>(x, y, cols);
}
