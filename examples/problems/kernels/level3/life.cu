/*
Conway's game of life on a torus (the left neighbour of column 0 is the last column, and so on; with a height or width of 1
a cell is its own neighbour, and with 2 it meets the same neighbour twice): play `steps` generations. A cell is 1 (alive) or
0. Of the eight neighbours count those alive, with repetition: a cell is alive in the next generation if 3 are, or if 2 are and
it is alive itself. steps may be 0.

in cells uint8 [height, width] choice 0 0 1
scalar steps int32 integers 1 6
out result uint8 [height, width]
sizes height,width = 1,1 3,3 2,40 17,33 60,50
benchmark 192,192
wrong wrong_answer: (c + width - 1) % width => max(c - 1, 0)
wrong wrong_answer: alive == 3 || (alive == 2 && cells[r * width + c]) => alive == 3 || alive == 2
*/
#include <vector>

void reference(const unsigned char* cells, int steps, unsigned char* result, int height, int width) {
  std::vector<unsigned char> now(cells, cells + height * width), next(now);
  for (int s = 0; s < steps; ++s) {
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c) {
        int alive = -now[r * width + c];
        for (int i = -1; i <= 1; ++i)
          for (int j = -1; j <= 1; ++j)
            alive += now[(r + i + height) % height * width + (c + j + width) % width];
        next[r * width + c] = alive == 3 || (alive == 2 && now[r * width + c]);
      }
    now.swap(next);
  }
  for (int i = 0; i < height * width; ++i) result[i] = now[i];
}

// solution
__global__ void generation(const unsigned char* cells, unsigned char* next, int height, int width) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= height || c >= width) return;
  int rows[3] = {(r + height - 1) % height, r, (r + 1) % height};
  int columns[3] = {(c + width - 1) % width, c, (c + 1) % width};
  int alive = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (i != 1 || j != 1) alive += cells[rows[i] * width + columns[j]];
  next[r * width + c] = alive == 3 || (alive == 2 && cells[r * width + c]);
}

void solve(const unsigned char* cells, int steps, unsigned char* result, int height, int width) {
  size_t bytes = (size_t)height * width;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  unsigned char* spare;
  cudaMalloc(&spare, bytes);
  unsigned char *now = result, *next = spare;
  cudaMemcpyAsync(now, cells, bytes, cudaMemcpyDeviceToDevice, stream);
  dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
  for (int s = 0; s < steps; ++s) {
    generation<<<grid, block, 0, stream>>>(now, next, height, width);
    unsigned char* t = now;
    now = next;
    next = t;
  }
  if (now != result) cudaMemcpyAsync(result, now, bytes, cudaMemcpyDeviceToDevice, stream);
  cudaStreamSynchronize(stream);
  cudaFree(spare);
  cudaStreamDestroy(stream);
}
