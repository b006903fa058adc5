/*
Unfold an image for a convolution with a 3 x 3 kernel, stride s and no padding. x has `channels` planes of height x width.
The result has one row for each (channel, i, j), in this order, with i and j in 0..2, and one column for each place
(r, c) of the output, row-major, where the output has `oh = (height - 3) / s + 1` rows and `ow = (width - 3) / s + 1`
columns: `y[(channel * 3 + i) * 3 + j][r * ow + c] = x[channel][r * s + i][c * s + j]`. height and width are at least 3.

in x float32 [channels, height, width]
out y float32 [channels*9, ((height-3)/s+1)*((width-3)/s+1)]
sizes channels,height,width,s = 1,3,3,1 2,5,9,1 3,10,7,2 4,17,20,3
benchmark 8,48,48,1
tolerance 1e-6
wrong wrong_answer: c * s + j => c + j
wrong wrong_answer|out_of_bounds|no_output|race: (width - 3) / s + 1 => (width - 2) / s + 1
*/
void reference(const float* x, float* y, int channels, int height, int width, int s) {
  const int oh = (height - 3) / s + 1, ow = (width - 3) / s + 1;
  for (int p = 0; p < channels; ++p)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int r = 0; r < oh; ++r)
          for (int c = 0; c < ow; ++c) *y++ = x[(p * height + r * s + i) * width + c * s + j];
}

// solution
// A thread a (channel, place): it writes the nine elements.
__global__ void im2col(const float* x, float* y, int channels, int height, int width, int s, int oh, int ow) {
  int place = blockIdx.x * blockDim.x + threadIdx.x;
  int p = blockIdx.y;
  if (place >= oh * ow) return;
  int r = place / ow, c = place % ow;
#pragma unroll
  for (int i = 0; i < 3; ++i)
#pragma unroll
    for (int j = 0; j < 3; ++j)
      y[((p * 3 + i) * 3 + j) * oh * ow + place] = x[(p * height + r * s + i) * width + c * s + j];
}

void solve(const float* x, float* y, int channels, int height, int width, int s) {
  int oh = (height - 3) / s + 1;
  int ow = (width - 3) / s + 1;
  im2col<<<dim3((oh * ow + 127) / 128, channels), 128>>>(x, y, channels, height, width, s, oh, ow);
}
