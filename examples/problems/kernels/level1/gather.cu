/*
Gather single elements: `y[i] = x[index[i]]`. The index may be negative: -1 means the last element of x, -2 the one
before it, and so on, down to -n.

in x int64 [n] integers -1000000 1000000
in index int32 [m] integers 0-n n-1
out y int64 [m]
sizes n,m = 1,1 10,100 1000,77 513,4000
benchmark 10000,131072
wrong out_of_bounds|device_fault: at < 0 ? at + n : at => at
wrong wrong_answer|out_of_bounds: at + n => at + n - 1 + (n == 1)
*/
void reference(const long long* x, const int* index, long long* y, int n, int m) {
  for (int i = 0; i < m; ++i) y[i] = x[index[i] < 0 ? index[i] + n : index[i]];
}

// solution
__global__ void __launch_bounds__(128)
    gather(const long long* x, const int* index, long long* y, int n, int m) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < m) {
    int at = index[i];
    y[i] = x[at < 0 ? at + n : at];
  }
}

void solve(const long long* x, const int* index, long long* y, int n, int m) {
  gather<<<(m + 127) / 128, 128>>>(x, index, y, n, m);
}
