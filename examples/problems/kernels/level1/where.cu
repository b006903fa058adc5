/*
Choose element by element: `y[i] = a[i]` where `condition[i]` is not 0, else `b[i]`. Any value other than 0 counts as
true.

in condition uint8 [n] choice 0 0 1 2 128
in a float32 [n]
in b float32 [n] normal 5 1
out y float32 [n]
sizes n = 1 99 1000 8193
benchmark 262144
tolerance 1e-6
wrong wrong_answer: condition[i] != 0 ? => condition[i] & 1 ?
wrong wrong_answer: ? a[i] : b[i] => ? b[i] : a[i]
*/
void reference(const unsigned char* condition, const float* a, const float* b, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = condition[i] ? a[i] : b[i];
}

// solution
template <typename T>
__global__ void where_kernel(const unsigned char* condition, const T* a, const T* b, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = condition[i] != 0 ? a[i] : b[i];
}

void solve(const unsigned char* condition, const float* a, const float* b, float* y, int n) {
  where_kernel<float><<<(n + 255) / 256, 256>>>(condition, a, b, y, n);
}
