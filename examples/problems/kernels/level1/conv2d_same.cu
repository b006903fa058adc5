/*
Filter a grey image with a 3 x 3 kernel and zero padding, so that the result has the size of the image:
`y[r][c] = sum_{i,j in 0..2} w[i][j] * x[r + i - 1][c + j - 1]`, where elements of x outside the image count as 0.

in x float32 [height, width]
in w float32 [3, 3]
out y float32 [height, width]
sizes height,width = 1,1 2,40 17,16 45,70
benchmark 256,256
tolerance 1e-4
wrong out_of_bounds|wrong_answer|device_fault: in_r >= 0 && => true &&
wrong wrong_answer: r + i - 1 => r + i
*/
void reference(const float* x, const float* w, float* y, int height, int width) {
  for (int r = 0; r < height; ++r)
    for (int c = 0; c < width; ++c) {
      double sum = 0;
      for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
          if (r + i >= 0 && r + i < height && c + j >= 0 && c + j < width)
            sum += double(w[(i + 1) * 3 + j + 1]) * x[(r + i) * width + c + j];
      y[r * width + c] = sum;
    }
}

// solution
__global__ void filter3x3(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                          int height, int width) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= height || c >= width) return;
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      int in_r = r + i - 1;
      int in_c = c + j - 1;
      if (in_r >= 0 && in_r < height && in_c >= 0 && in_c < width)
        sum += __ldg(&w[i * 3 + j]) * __ldg(&x[in_r * width + in_c]);
    }
  }
  y[r * width + c] = sum;
}

void solve(const float* x, const float* w, float* y, int height, int width) {
  dim3 block(16, 16);
  dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
  filter3x3<<<grid, block>>>(x, w, y, height, width);
}
