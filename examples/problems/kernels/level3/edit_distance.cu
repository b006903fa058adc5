/*
Levenshtein distance of many pairs of words. Pair p consists of row p of `a` (m letters) and row p of `b` (n letters), every
letter a byte. `distance[p]` is the smallest number of insertions, deletions and replacements of single letters that turn one
into the other. m and n are at least 1 and at most 256.

in a uint8 [pairs, m] integers 97 100
in b uint8 [pairs, n] integers 97 100
out distance int32 [pairs]
sizes pairs,m,n = 1,1,1 5,10,3 3,40,65 4,7,129
benchmark 32,64,64
wrong wrong_answer: + (a[p * m + i - 1] != b[p * n + j - 1]) => + 1
wrong race|wrong_answer|nondeterministic: __syncthreads();  // the diagonal is complete => // the diagonal is complete
*/
#include <algorithm>
#include <vector>

void reference(const unsigned char* a, const unsigned char* b, int* distance, int pairs, int m, int n) {
  for (int p = 0; p < pairs; ++p) {
    std::vector<int> row(n + 1);
    for (int j = 0; j <= n; ++j) row[j] = j;
    for (int i = 1; i <= m; ++i) {
      int corner = row[0];
      row[0] = i;
      for (int j = 1; j <= n; ++j) {
        const int replaced = corner + (a[p * m + i - 1] != b[p * n + j - 1]);
        corner = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      }
    }
    distance[p] = row[n];
  }
}

// solution
#define MAX_LENGTH 256

// A block a pair. Cells of one anti-diagonal do not depend on each other; three diagonals are kept.
__global__ void edit_distance(const unsigned char* a, const unsigned char* b, int* distance, int m, int n) {
  __shared__ int diagonal[3][MAX_LENGTH + 1];
  int p = blockIdx.x;
  for (int s = 0; s <= m + n; ++s) {
    int* now = diagonal[s % 3];
    const int* last = diagonal[(s + 2) % 3];
    const int* before = diagonal[(s + 1) % 3];
    for (int i = threadIdx.x; i <= m; i += blockDim.x) {
      int j = s - i;
      if (j < 0 || j > n) continue;
      int best;
      if (i == 0 || j == 0) {
        best = i + j;
      } else {
        int replaced = before[i - 1] + (a[p * m + i - 1] != b[p * n + j - 1]);
        best = min(replaced, min(last[i - 1], last[i]) + 1);
      }
      now[i] = best;
    }
    __syncthreads();  // the diagonal is complete
  }
  if (threadIdx.x == 0) distance[p] = diagonal[(m + n) % 3][m];
}

void solve(const unsigned char* a, const unsigned char* b, int* distance, int pairs, int m, int n) {
  edit_distance<<<pairs, 64>>>(a, b, distance, m, n);
}
