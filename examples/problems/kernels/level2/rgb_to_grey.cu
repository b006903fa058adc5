/*
Turn a colour image into grey: pixel p has the bytes red, green, blue at `rgb[p][0..2]`; its grey value is
`(77 * red + 150 * green + 29 * blue + 128) / 256`, rounded down.

in rgb uint8 [pixels, 3]
out grey uint8 [pixels]
sizes pixels = 1 4 1001 6000
benchmark 131072
wrong wrong_answer: 77 * rgb[3 * p] + 150 * rgb[3 * p + 1] => 150 * rgb[3 * p] + 77 * rgb[3 * p + 1]
wrong wrong_answer: + 128) >> 8 => ) >> 8
*/
void reference(const unsigned char* rgb, unsigned char* grey, int pixels) {
  for (int p = 0; p < pixels; ++p)
    grey[p] = (77 * rgb[3 * p] + 150 * rgb[3 * p + 1] + 29 * rgb[3 * p + 2] + 128) / 256;
}

// solution
__device__ unsigned char to_grey(const unsigned char* rgb, int p) {
  return (77 * rgb[3 * p] + 150 * rgb[3 * p + 1] + 29 * rgb[3 * p + 2] + 128) >> 8;
}

// Four pixels a thread, stored at once.
__global__ void rgb_to_grey(const unsigned char* rgb, unsigned char* grey, int pixels) {
  int p = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (p + 3 < pixels) {
    *reinterpret_cast<uchar4*>(grey + p) =
        make_uchar4(to_grey(rgb, p), to_grey(rgb, p + 1), to_grey(rgb, p + 2), to_grey(rgb, p + 3));
  } else {
    for (; p < pixels; ++p) grey[p] = to_grey(rgb, p);
  }
}

void solve(const unsigned char* rgb, unsigned char* grey, int pixels) {
  rgb_to_grey<<<(pixels + 511) / 512, 128>>>(rgb, grey, pixels);
}
