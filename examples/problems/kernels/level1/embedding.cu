/*
Look up rows of a table: `y[t][d] = table[tokens[t]][d]`. Every token is in 0..vocab-1.

in table float32 [vocab, dim]
in tokens int32 [count] integers 0 vocab-1
out y float32 [count, dim]
sizes vocab,dim,count = 1,1,1 10,7,33 100,64,5 31,100,64
benchmark 1000,256,512
tolerance 1e-6
wrong wrong_answer: tokens[t] * dim + d => tokens[t] + d
wrong nonfinite: d += blockDim.x => d += dim
*/
void reference(const float* table, const int* tokens, float* y, int vocab, int dim, int count) {
  for (int t = 0; t < count; ++t)
    for (int d = 0; d < dim; ++d) y[t * dim + d] = table[tokens[t] * dim + d];
}

// solution
// A block a token.
__global__ void lookup(const float* table, const int* tokens, float* y, int dim) {
  int t = blockIdx.x;
  for (int d = threadIdx.x; d < dim; d += blockDim.x) y[t * dim + d] = table[tokens[t] * dim + d];
}

void solve(const float* table, const int* tokens, float* y, int vocab, int dim, int count) {
  lookup<<<count, 64>>>(table, tokens, y, dim);
}
