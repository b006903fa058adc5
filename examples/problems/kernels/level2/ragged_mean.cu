/*
Mean of each sequence of a ragged batch. Sequence s consists of the rows `start[s]` up to but not including
`start[s + 1]` of x, each with dim elements; `y[s][d]` is the mean of column d over these rows, and 0 for an empty
sequence. Rows outside all sequences do not count.

in x float32 [rows, dim] normal 2 1
in start int32 [batch+1] integers 0 rows sorted
out y float32 [batch, dim]
sizes rows,dim,batch = 1,1,1 40,5,3 200,65,17 30,9,100
benchmark 2000,64,100
tolerance 1e-4
wrong nonfinite: last > first ? sum / (last - first) : 0.0f => sum / (last - first)
wrong wrong_answer: for (int r = first; r < last; ++r) => for (int r = first + 1; r < last; ++r)
*/
void reference(const float* x, const int* start, float* y, int rows, int dim, int batch) {
  for (int s = 0; s < batch; ++s)
    for (int d = 0; d < dim; ++d) {
      double sum = 0;
      for (int r = start[s]; r < start[s + 1]; ++r) sum += x[r * dim + d];
      y[s * dim + d] = start[s + 1] > start[s] ? sum / (start[s + 1] - start[s]) : 0;
    }
}

// solution
__global__ void ragged_mean(const float* x, const int* start, float* y, int dim) {
  const int s = blockIdx.y;
  const int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= dim) return;
  const int first = start[s], last = start[s + 1];
  float sum = 0.0f;
  for (int r = first; r < last; ++r) sum += x[r * dim + d];
  y[s * dim + d] = last > first ? sum / (last - first) : 0.0f;
}

void solve(const float* x, const int* start, float* y, int rows, int dim, int batch) {
  ragged_mean<<<dim3((dim + 31) / 32, batch), 32>>>(x, start, y, dim);
}
