/*
Cosine similarity of corresponding rows: `s[r] = (a_r . b_r) / max(|a_r| * |b_r|, 1e-8)`, where a_r and b_r are the rows r
of a and b, `.` is the dot product and |.| the Euclidean length.

in a float32 [rows, dim] normal 0.5 1
in b float32 [rows, dim] normal 0.5 1
out s float32 [rows]
sizes rows,dim = 1,1 40,3 9,100 3,1025
benchmark 256,256
tolerance 1e-4
wrong wrong_answer: sqrtf(v.y * v.z) => sqrtf(v.y)
wrong race|wrong_answer|nondeterministic: __syncthreads();  // partial sums are there => // partial sums are there
*/
#include <algorithm>
#include <cmath>

void reference(const float* a, const float* b, float* s, int rows, int dim) {
  for (int r = 0; r < rows; ++r) {
    double dot = 0, aa = 0, bb = 0;
    for (int d = 0; d < dim; ++d) {
      const double u = a[r * dim + d], v = b[r * dim + d];
      dot += u * v;
      aa += u * u;
      bb += v * v;
    }
    s[r] = dot / std::max(std::sqrt(aa) * std::sqrt(bb), 1e-8);
  }
}

// solution
__device__ float3 operator+(float3 u, float3 v) {
  return make_float3(u.x + v.x, u.y + v.y, u.z + v.z);
}

__global__ void cosine(const float* a, const float* b, float* s, int dim) {
  __shared__ float3 partial[64];
  float3 v = make_float3(0.0f, 0.0f, 0.0f);
  for (int d = threadIdx.x; d < dim; d += blockDim.x) {
    float p = a[blockIdx.x * dim + d], q = b[blockIdx.x * dim + d];
    v = v + make_float3(p * q, p * p, q * q);
  }
  partial[threadIdx.x] = v;
  __syncthreads();  // partial sums are there
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] = partial[threadIdx.x] + partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    v = partial[0];
    s[blockIdx.x] = v.x / fmaxf(sqrtf(v.y * v.z), 1e-8f);
  }
}

void solve(const float* a, const float* b, float* s, int rows, int dim) {
  cosine<<<rows, 64>>>(a, b, s, dim);
}
