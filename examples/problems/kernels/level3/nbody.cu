/*
One time step of n bodies that attract each other. body[i] holds x, y, z and the mass m. The acceleration of body i is
`a_i = sum_j m_j * d / (|d|^2 + 0.01)^1.5` with d = position j - position i (for j = i it is 0). Then, for each coordinate,
`velocity_new = velocity + dt * a` and `position_new = position + dt * velocity_new`. Write new positions (with the mass
unchanged) to `moved` and new velocities to `speed`. All threads must use the old positions.

in body float32 [n, 4] uniform 0.2 1.5
in velocity float32 [n, 3]
scalar dt float32 uniform 0.01 0.1
out moved float32 [n, 4]
out speed float32 [n, 3]
sizes n = 1 2 65 300
benchmark 512
tolerance 1e-3
wrong wrong_answer: rsqrtf(r2) * rsqrtf(r2) * rsqrtf(r2) => rsqrtf(r2) * rsqrtf(r2)
wrong race|wrong_answer|nondeterministic: __syncthreads();  // the tile has been used => // the tile has been used
*/
#include <cmath>

void reference(const float* body, const float* velocity, float dt, float* moved, float* speed, int n) {
  for (int i = 0; i < n; ++i) {
    double a[3] = {0, 0, 0};
    for (int j = 0; j < n; ++j) {
      double d[3], r2 = 0.01;
      for (int k = 0; k < 3; ++k) {
        d[k] = double(body[4 * j + k]) - body[4 * i + k];
        r2 += d[k] * d[k];
      }
      for (int k = 0; k < 3; ++k) a[k] += body[4 * j + 3] * d[k] / std::pow(r2, 1.5);
    }
    for (int k = 0; k < 3; ++k) {
      const double v = velocity[3 * i + k] + dt * a[k];
      speed[3 * i + k] = v;
      moved[4 * i + k] = body[4 * i + k] + dt * v;
    }
    moved[4 * i + 3] = body[4 * i + 3];
  }
}

// solution
#define TILE 64

__global__ void nbody_step(const float4* body, const float* velocity, float dt, float4* moved, float* speed,
                           int n) {
  __shared__ float4 tile[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
  float3 a = {0.0f, 0.0f, 0.0f};
  for (int first = 0; first < n; first += TILE) {
    int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);  // without mass
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < TILE; ++k) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float pull = other.w * (rsqrtf(r2) * rsqrtf(r2) * rsqrtf(r2));
      a.x += pull * dx;
      a.y += pull * dy;
      a.z += pull * dz;
    }
    __syncthreads();  // the tile has been used
  }
  if (i >= n) return;
  float vx = velocity[3 * i] + dt * a.x;
  float vy = velocity[3 * i + 1] + dt * a.y;
  float vz = velocity[3 * i + 2] + dt * a.z;
  speed[3 * i] = vx;
  speed[3 * i + 1] = vy;
  speed[3 * i + 2] = vz;
  moved[i] = make_float4(me.x + dt * vx, me.y + dt * vy, me.z + dt * vz, me.w);
}

void solve(const float* body, const float* velocity, float dt, float* moved, float* speed, int n) {
  nbody_step<<<(n + TILE - 1) / TILE, TILE>>>(reinterpret_cast<const float4*>(body), velocity, dt,
                                              reinterpret_cast<float4*>(moved), speed, n);
}
