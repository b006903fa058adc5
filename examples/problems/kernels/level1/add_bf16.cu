/*
Add two bfloat16 vectors: `c[i] = a[i] + b[i]`, added in float and rounded to bfloat16.

in a bfloat16 [n] normal 1 2
in b bfloat16 [n] normal 1 2
out c bfloat16 [n]
sizes n = 1 100 4096 10001
benchmark 131072
tolerance 1e-2
wrong wrong_answer: __bfloat162float(a[i]) + __bfloat162float(b[i]) => __bfloat162float(a[i]) - __bfloat162float(b[i])
wrong out_of_bounds: if (i >= n) return; =>
*/
void reference(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n) {
  for (int i = 0; i < n; ++i) c[i] = float(a[i]) + float(b[i]);
}

// solution
#include <cuda_bf16.h>

__global__ void add_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  c[i] = __float2bfloat16(__bfloat162float(a[i]) + __bfloat162float(b[i]));
}

void solve(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n) {
  dim3 block(192);
  dim3 grid((n + block.x - 1) / block.x);
  add_kernel<<<grid, block>>>(a, b, c, n);
}
