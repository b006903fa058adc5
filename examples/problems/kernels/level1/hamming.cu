/*
Hamming distance of pairs of 32-bit words: `d[i]` is the number of bits in which `a[i]` and `b[i]` differ.

in a int32 [n] integers -2147483648 2147483647
in b int32 [n] integers -2147483648 2147483647
out d int32 [n]
sizes n = 0 1 130 5003
benchmark 262144
wrong wrong_answer: __popc(a[i] ^ b[i]) => __popc(a[i] & b[i])
wrong wrong_answer|no_output: blockIdx.x * blockDim.x + threadIdx.x => threadIdx.x
*/
void reference(const int* a, const int* b, int* d, int n) {
  for (int i = 0; i < n; ++i) {
    d[i] = 0;
    for (unsigned bits = unsigned(a[i]) ^ unsigned(b[i]); bits; bits >>= 1) d[i] += bits & 1;
  }
}

// solution
__global__ void hamming(const int* a, const int* b, int* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = __popc(a[i] ^ b[i]);
}

void solve(const int* a, const int* b, int* d, int n) {
  if (n > 0) hamming<<<(n + 511) / 512, 512>>>(a, b, d, n);
}
