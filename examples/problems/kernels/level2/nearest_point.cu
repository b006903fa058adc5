/*
For every query point the nearest of a set of points in the plane: `nearest[q]` is the smallest j that minimises
`(px[j] - qx[q])^2 + (py[j] - qy[q])^2`. Coordinates are small integers, so distances are exact and often equal.

in qx int32 [queries] integers 0 40
in qy int32 [queries] integers 0 40
in px int32 [points] integers 0 40
in py int32 [points] integers 0 40
out nearest int32 [queries]
sizes queries,points = 1,1 40,3 33,300 200,65
benchmark 1024,512
wrong wrong_answer: distance < best => distance <= best
wrong race|wrong_answer|nondeterministic|out_of_bounds: __syncthreads();  // points are loaded => // points are loaded
*/
void reference(const int* qx, const int* qy, const int* px, const int* py, int* nearest, int queries,
               int points) {
  for (int q = 0; q < queries; ++q) {
    long long best = -1;
    for (int j = 0; j < points; ++j) {
      const long long dx = px[j] - qx[q], dy = py[j] - qy[q];
      if (best < 0 || dx * dx + dy * dy < best) {
        best = dx * dx + dy * dy;
        nearest[q] = j;
      }
    }
  }
}

// solution
#include <climits>

// All threads of a block load a batch of points, then each looks through it.
__global__ void find_nearest(const int* qx, const int* qy, const int* px, const int* py, int* nearest,
                             int queries, int points) {
  __shared__ int2 batch[64];
  int q = blockIdx.x * 64 + threadIdx.x;
  int2 mine = q < queries ? make_int2(qx[q], qy[q]) : make_int2(0, 0);
  int best = INT_MAX, at = -1;
  for (int first = 0; first < points; first += 64) {
    int j = first + threadIdx.x;
    if (j < points) batch[threadIdx.x] = make_int2(px[j], py[j]);
    __syncthreads();  // points are loaded
    int count = min(64, points - first);
    for (int k = 0; k < count; ++k) {
      int dx = batch[k].x - mine.x, dy = batch[k].y - mine.y;
      int distance = dx * dx + dy * dy;
      if (distance < best) {
        best = distance;
        at = first + k;
      }
    }
    __syncthreads();
  }
  if (q < queries) nearest[q] = at;
}

void solve(const int* qx, const int* qy, const int* px, const int* py, int* nearest, int queries,
           int points) {
  find_nearest<<<(queries + 63) / 64, 64>>>(qx, qy, px, py, nearest, queries, points);
}
