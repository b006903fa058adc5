/*
Sparse matrix times vector. The matrix is in CSR form: the entries of row r are those with index `row_start[r]` up to
but not including `row_start[r + 1]`; entry e is in column `column[e]` and has the value `value[e]`. A column may occur
more than once in a row (both entries count), and rows may be empty. Entries before `row_start[0]` or from
`row_start[rows]` on belong to no row. `y[r] = sum_e value[e] * x[column[e]]` over the entries of row r.

in row_start int32 [rows+1] integers 0 entries sorted
in column int32 [entries] integers 0 cols-1
in value float32 [entries]
in x float32 [cols]
out y float32 [rows]
sizes rows,cols,entries = 1,1,1 5,9,300 100,40,250 33,1000,2000
benchmark 2000,2000,40000
tolerance 1e-4
wrong nonfinite|no_output: if (lane == 0) y[row] = sum; => if (lane == 0 && sum != 0) y[row] = sum;
wrong wrong_answer|out_of_bounds: e < row_start[row + 1] => e <= row_start[row + 1]
*/
void reference(const int* row_start, const int* column, const float* value, const float* x, float* y,
               int rows, int cols, int entries) {
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int e = row_start[r]; e < row_start[r + 1]; ++e) sum += double(value[e]) * x[column[e]];
    y[r] = sum;
  }
}

// solution
// Eight lanes a row.
#define LANES 8

__global__ void spmv(const int* row_start, const int* column, const float* value, const float* x, float* y,
                     int rows) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int row = thread / LANES;
  int lane = thread % LANES;
  float sum = 0.0f;
  if (row < rows)
    for (int e = row_start[row] + lane; e < row_start[row + 1]; e += LANES) sum += value[e] * x[column[e]];
  for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step, LANES);
  if (row < rows) {
    if (lane == 0) y[row] = sum;
  }
}

void solve(const int* row_start, const int* column, const float* value, const float* x, float* y, int rows,
           int cols, int entries) {
  spmv<<<(rows * LANES + 127) / 128, 128>>>(row_start, column, value, x, y, rows);
}
