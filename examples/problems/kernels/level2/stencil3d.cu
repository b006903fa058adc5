/*
One step of a 7-point stencil on a grid of nz x ny x nx points. For points that have all six neighbours,
`y[z][j][i] = x[z][j][i] + k * (sum of the six neighbours - 6 * x[z][j][i])`, where the neighbours differ by one in exactly
one coordinate. All points on the border are copied: `y = x`.

in x float32 [nz, ny, nx]
scalar k float32 uniform 0.1 0.3
out y float32 [nz, ny, nx]
sizes nz,ny,nx = 1,1,1 2,5,9 3,3,3 7,18,33
benchmark 24,48,64
tolerance 1e-4
wrong out_of_bounds|wrong_answer: z == 0 || z == nz - 1 => z == 0
wrong wrong_answer: x[at + nx] => x[at + ny]
*/
void reference(const float* x, float k, float* y, int nz, int ny, int nx) {
  for (int z = 0; z < nz; ++z)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        const int at = (z * ny + j) * nx + i;
        y[at] = x[at];
        if (z > 0 && z < nz - 1 && j > 0 && j < ny - 1 && i > 0 && i < nx - 1) {
          const double around =
              double(x[at - 1]) + x[at + 1] + x[at - nx] + x[at + nx] + x[at - nx * ny] + x[at + nx * ny];
          y[at] = x[at] + k * (around - 6.0 * x[at]);
        }
      }
}

// solution
__global__ void stencil(const float* x, float k, float* y, int nz, int ny, int nx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (i >= nx || j >= ny || z >= nz) return;
  int at = (z * ny + j) * nx + i;
  float centre = x[at];
  if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || z == 0 || z == nz - 1) {
    y[at] = centre;
    return;
  }
  float around = x[at - 1] + x[at + 1] + x[at - nx] + x[at + nx] + x[at - nx * ny] + x[at + nx * ny];
  y[at] = centre + k * (around - 6.0f * centre);
}

void solve(const float* x, float k, float* y, int nz, int ny, int nx) {
  dim3 block(32, 4, 2);
  dim3 grid((nx + 31) / 32, (ny + 3) / 4, (nz + 1) / 2);
  stencil<<<grid, block>>>(x, k, y, nz, ny, nx);
}
