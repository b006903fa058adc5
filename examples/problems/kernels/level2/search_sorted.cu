/*
Binary search: for each query, `place[j]` is the number of elements of `sorted` that are less than `query[j]` (so the
first place at which the query could be inserted). `sorted` is in ascending order and contains repeated values.

in sorted int32 [n] integers 0 1000 sorted
in query int32 [m] integers -10 1010
out place int32 [m]
sizes n,m = 0,5 1,9 100,33 1000,2000
benchmark 65536,32768
wrong wrong_answer: if (sorted[middle] < query[j]) => if (sorted[middle] <= query[j])
wrong wrong_answer: high = n; => high = n - 1;
*/
#include <algorithm>

void reference(const int* sorted, const int* query, int* place, int n, int m) {
  for (int j = 0; j < m; ++j) place[j] = std::lower_bound(sorted, sorted + n, query[j]) - sorted;
}

// solution
__global__ void search(const int* sorted, const int* query, int* place, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < query[j])
      low = middle + 1;
    else
      high = middle;
  }
  place[j] = low;
}

void solve(const int* sorted, const int* query, int* place, int n, int m) {
  search<<<(m + 127) / 128, 128>>>(sorted, query, place, n, m);
}
