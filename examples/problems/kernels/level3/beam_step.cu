/*
One step of beam search. There are `beams` hypotheses with scores; hypothesis b continued by token t scores
`score[b] + step[b][t]` (integers: no rounding). Choose the `beams` best of all beams * vocab continuations, best first; of
equal ones the smaller b comes first, then the smaller t. Results for i = 0..beams-1: the new score in `best[i]`, the b it
came from in `parent[i]` and its token in `token[i]`.

in score int32 [beams] integers -30 0
in step int32 [beams, vocab] integers -100 0
out best int32 [beams]
out parent int32 [beams]
out token int32 [beams]
sizes beams,vocab = 1,1 4,9 8,1000 5,333
benchmark 16,4000
wrong wrong_answer: key < before && key > mine => key > mine
wrong wrong_answer: score[i / vocab] + step[i] => step[i]
*/
#include <algorithm>
#include <numeric>
#include <vector>

void reference(const int* score, const int* step, int* best, int* parent, int* token, int beams, int vocab) {
  std::vector<int> order(beams * vocab);
  std::iota(order.begin(), order.end(), 0);
  const auto total = [&](int at) { return score[at / vocab] + step[at]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return total(a) > total(b); });
  for (int i = 0; i < beams; ++i) {
    best[i] = total(order[i]);
    parent[i] = order[i] / vocab;
    token[i] = order[i] % vocab;
  }
}

// solution
// A continuation as one number: larger is better; the place is in the lower half.
__device__ long long key_of(const int* score, const int* step, int i, int vocab) {
  long long total = score[i / vocab] + step[i];
  return total * 0x80000000LL + (0x7fffffffLL - i);
}

__global__ void beam_step(const int* score, const int* step, int* best, int* parent, int* token, int beams,
                          int vocab) {
  __shared__ long long warps[32];
  __shared__ long long chosen;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  long long before = 0x7fffffffffffffffLL;
  for (int rank = 0; rank < beams; ++rank) {
    long long mine = -0x7fffffffffffffffLL;
    for (int i = threadIdx.x; i < beams * vocab; i += blockDim.x) {
      long long key = key_of(score, step, i, vocab);
      if (key < before && key > mine) mine = key;
    }
    for (int offset = 16; offset; offset /= 2) mine = max(mine, __shfl_down_sync(0xffffffff, mine, offset));
    if (lane == 0) warps[warp] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < blockDim.x / 32; ++w) mine = max(mine, warps[w]);
      chosen = mine;
      int i = 0x7fffffffLL - (mine & 0x7fffffffLL);
      best[rank] = score[i / vocab] + step[i];
      parent[rank] = i / vocab;
      token[rank] = i % vocab;
    }
    __syncthreads();
    before = chosen;
  }
}

void solve(const int* score, const int* step, int* best, int* parent, int* token, int beams, int vocab) {
  beam_step<<<1, 256>>>(score, step, best, parent, token, beams, vocab);
}
