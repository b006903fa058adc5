/*
Sparse matrix times dense matrix. The sparse matrix A is in CSR form: row r has the entries e with
`row_start[r] <= e < row_start[r + 1]`, entry e with value[e] in column[e]; rows may be empty, a column may repeat within a
row (all its entries count). B has `inner` x `cols` elements: `Y[r][c] = sum_e value[e] * B[column[e]][c]`.

in row_start int32 [rows+1] integers 0 entries sorted
in column int32 [entries] integers 0 inner-1
in value float32 [entries]
in B float32 [inner, cols]
out Y float32 [rows, cols]
sizes rows,inner,cols,entries = 1,1,1,1 7,9,33,50 40,20,5,300 20,100,64,90
benchmark 256,256,64,2000
tolerance 1e-4
wrong wrong_answer: first += 32 => first += 33
wrong wrong_answer: __shfl_sync(0xffffffff, v, i) => __shfl_sync(0xffffffff, v, 31 - i)
*/
void reference(const int* row_start, const int* column, const float* value, const float* B, float* Y,
               int rows, int inner, int cols, int entries) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      double sum = 0;
      for (int e = row_start[r]; e < row_start[r + 1]; ++e) sum += double(value[e]) * B[column[e] * cols + c];
      Y[r * cols + c] = sum;
    }
}

// solution
// A warp a row and 32 columns. Lanes load 32 entries together and hand them round by shuffles.
__global__ void spmm(const int* row_start, const int* column, const float* value, const float* B, float* Y,
                     int rows, int cols) {
  int r = blockIdx.x * blockDim.y + threadIdx.y;
  int lane = threadIdx.x;
  int c = blockIdx.y * 32 + lane;
  if (r >= rows) return;
  float sum = 0.0f;
  int last = row_start[r + 1];
  for (int first = row_start[r]; first < last; first += 32) {
    int e = first + lane;
    float v = e < last ? value[e] : 0.0f;
    int at = e < last ? column[e] : 0;
    int count = min(32, last - first);
    for (int i = 0; i < count; ++i) {
      float factor = __shfl_sync(0xffffffff, v, i);
      int row = __shfl_sync(0xffffffff, at, i);
      if (c < cols) sum += factor * B[row * cols + c];
    }
  }
  if (c < cols) Y[r * cols + c] = sum;
}

void solve(const int* row_start, const int* column, const float* value, const float* B, float* Y, int rows,
           int inner, int cols, int entries) {
  dim3 block(32, 4);
  dim3 grid((rows + 3) / 4, (cols + 31) / 32);
  spmm<<<grid, block>>>(row_start, column, value, B, Y, rows, cols);
}
