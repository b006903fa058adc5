/*
Breadth-first search in a directed graph. Node u has the edges e with `first[u] <= e < first[u + 1]`, which lead to
`target[e]`; a node may have no edge, and edges may repeat or lead back to u. `level[u]` is the smallest number of edges
on a path from node 0 to u: 0 for node 0 itself, and -1 where no path leads.

in first int32 [nodes+1] integers 0 edges sorted
in target int32 [edges] integers 0 nodes-1
out level int32 [nodes]
sizes nodes,edges = 1,1 10,12 100,150 500,2500
benchmark 4096,16384
wrong wrong_answer: depth + 1) == -1 => depth) == -1
wrong wrong_answer: while (again) => if (again)
*/
#include <vector>

void reference(const int* first, const int* target, int* level, int nodes, int edges) {
  for (int u = 0; u < nodes; ++u) level[u] = -1;
  std::vector<int> queue = {0};
  level[0] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int u = queue[i], e = first[u]; e < first[u + 1]; ++e)
      if (level[target[e]] < 0) {
        level[target[e]] = level[u] + 1;
        queue.push_back(target[e]);
      }
}

// solution
__global__ void start(int* level, int nodes) {
  int u = blockIdx.x * blockDim.x + threadIdx.x;
  if (u < nodes) level[u] = u == 0 ? 0 : -1;
}

// Visits the edges of all nodes that were reached with `depth` edges.
__global__ void expand(const int* first, const int* target, int* level, int* found, int depth, int nodes) {
  int u = blockIdx.x * blockDim.x + threadIdx.x;
  if (u >= nodes || atomicAdd(&level[u], 0) != depth) return;
  for (int e = first[u]; e < first[u + 1]; ++e)
    if (atomicCAS(&level[target[e]], -1, depth + 1) == -1) *found = 1;
}

void solve(const int* first, const int* target, int* level, int nodes, int edges) {
  int blocks = (nodes + 127) / 128;
  start<<<blocks, 128>>>(level, nodes);
  int* found;
  cudaMalloc(&found, sizeof(int));
  int again = 1, depth = 0;
  while (again) {
    cudaMemset(found, 0, sizeof(int));
    expand<<<blocks, 128>>>(first, target, level, found, depth++, nodes);
    cudaMemcpy(&again, found, sizeof(int), cudaMemcpyDeviceToHost);
  }
  cudaFree(found);
}
