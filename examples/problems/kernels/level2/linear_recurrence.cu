/*
A gated linear recurrence along time, independent for every channel: starting from `h = h0[c]`,
`h = a[t][c] * h + b[t][c]` for t = 0, 1, ..., steps-1, and `y[t][c]` is h after step t.

in a float32 [steps, channels] uniform 0.2 0.95
in b float32 [steps, channels]
in h0 float32 [channels]
out y float32 [steps, channels]
sizes steps,channels = 1,1 3,40 100,33 257,5
benchmark 256,256
tolerance 1e-4
wrong wrong_answer: float h = h0[c]; => float h = 0.0f;
wrong wrong_answer: h = fmaf(a[at], h, b[at]); => h = fmaf(a[at], b[at], h);
*/
void reference(const float* a, const float* b, const float* h0, float* y, int steps, int channels) {
  for (int c = 0; c < channels; ++c) {
    double h = h0[c];
    for (int t = 0; t < steps; ++t) y[t * channels + c] = h = a[t * channels + c] * h + b[t * channels + c];
  }
}

// solution
__global__ void recurrence(const float* a, const float* b, const float* h0, float* y, int steps,
                           int channels) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  float h = h0[c];
  for (int t = 0; t < steps; ++t) {
    int at = t * channels + c;
    h = fmaf(a[at], h, b[at]);
    y[at] = h;
  }
}

void solve(const float* a, const float* b, const float* h0, float* y, int steps, int channels) {
  recurrence<<<(channels + 31) / 32, 32>>>(a, b, h0, y, steps, channels);
}
