// curand_kernel.h: generators of device code. Philox is cuRAND's; XORWOW and MRG start elsewhere in their
// sequences than cuRAND's do.
#pragma once

#include "leap_cuda.h"

struct curandStatePhilox4_32_10 {
  unsigned key[2], counter[4], out[4];
  unsigned at;
  float spare;
  bool has_spare;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct curandStateXORWOW {
  unsigned d, v[5];
  float spare;
  bool has_spare;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState;
typedef curandStateXORWOW curandState_t;
struct curandStateMRG32k3a : curandStateXORWOW {};
typedef curandStateMRG32k3a curandStateMRG32k3a_t;

namespace leap_cuda {
inline void philox(curandStatePhilox4_32_10* s) {
  unsigned c[4] = {s->counter[0], s->counter[1], s->counter[2], s->counter[3]};
  unsigned key[2] = {s->key[0], s->key[1]};
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    const unsigned next[4] = {static_cast<unsigned>(b >> 32) ^ c[1] ^ key[0], static_cast<unsigned>(b),
                              static_cast<unsigned>(a >> 32) ^ c[3] ^ key[1], static_cast<unsigned>(a)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  for (int i = 0; i < 4; ++i) s->out[i] = c[i];
}
inline void philox_skip(curandStatePhilox4_32_10* s, unsigned long long blocks) {
  const unsigned long long low = (static_cast<unsigned long long>(s->counter[1]) << 32 | s->counter[0]);
  const unsigned long long sum = low + blocks;
  s->counter[0] = static_cast<unsigned>(sum);
  s->counter[1] = static_cast<unsigned>(sum >> 32);
  if (sum < low && ++s->counter[2] == 0) ++s->counter[3];
}
inline unsigned long long scramble(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}
}  // namespace leap_cuda

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10* s) {
  *s = {};
  s->key[0] = static_cast<unsigned>(seed);
  s->key[1] = static_cast<unsigned>(seed >> 32);
  s->counter[2] = static_cast<unsigned>(subsequence);
  s->counter[3] = static_cast<unsigned>(subsequence >> 32);
  leap_cuda::philox_skip(s, offset / 4);
  s->at = static_cast<unsigned>(offset % 4);
  leap_cuda::philox(s);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW* s) {
  *s = {};
  unsigned long long x = leap_cuda::scramble(seed) ^ leap_cuda::scramble(subsequence * 2 + 1);
  for (unsigned& v : s->v) {
    x = leap_cuda::scramble(x);
    v = static_cast<unsigned>(x) | 1;
  }
  s->d = static_cast<unsigned>(leap_cuda::scramble(x) + 362437ull * offset);
}
inline unsigned curand(curandStatePhilox4_32_10* s) {
  const unsigned out = s->out[s->at++];
  if (s->at == 4) {
    leap_cuda::philox_skip(s, 1);
    leap_cuda::philox(s);
    s->at = 0;
  }
  return out;
}
inline unsigned curand(curandStateXORWOW* s) {
  const unsigned t = s->v[0] ^ s->v[0] >> 2;
  for (int i = 0; i < 4; ++i) s->v[i] = s->v[i + 1];
  s->v[4] = (s->v[4] ^ s->v[4] << 4) ^ (t ^ t << 1);
  s->d += 362437;
  return s->v[4] + s->d;
}
template <class S>
inline float curand_uniform(S* s) {
  return static_cast<float>(curand(s)) * 2.3283064e-10f + 1.16415322e-10f;
}
template <class S>
inline double curand_uniform_double(S* s) {
  const unsigned long long x = curand(s), y = curand(s);
  return static_cast<double>(x ^ y << 21) * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}
template <class S>
inline float2 curand_normal2(S* s) {
  const float u = curand_uniform(s), v = curand_uniform(s) * 6.2831853f;
  const float r = sqrtf(-2.0f * logf(u));
  return {r * sinf(v), r * cosf(v)};
}
template <class S>
inline float curand_normal(S* s) {
  if (s->has_spare) {
    s->has_spare = false;
    return s->spare;
  }
  const float2 pair = curand_normal2(s);
  s->spare = pair.y;
  s->has_spare = true;
  return pair.x;
}
template <class S>
inline double2 curand_normal2_double(S* s) {
  const double u = curand_uniform_double(s), v = curand_uniform_double(s) * 6.283185307179586;
  const double r = sqrt(-2.0 * log(u));
  return {r * sin(v), r * cos(v)};
}
template <class S>
inline double curand_normal_double(S* s) {
  return curand_normal2_double(s).x;
}
template <class S>
inline float curand_log_normal(S* s, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(s));
}
template <class S>
inline uint4 curand4(S* s) {
  uint4 out;
  out.x = curand(s);
  out.y = curand(s);
  out.z = curand(s);
  out.w = curand(s);
  return out;
}
template <class S>
inline float4 curand_uniform4(S* s) {
  float4 out;
  out.x = curand_uniform(s);
  out.y = curand_uniform(s);
  out.z = curand_uniform(s);
  out.w = curand_uniform(s);
  return out;
}
template <class S>
inline float4 curand_normal4(S* s) {
  const float2 a = curand_normal2(s), b = curand_normal2(s);
  return {a.x, a.y, b.x, b.y};
}
template <class S>
inline unsigned curand_poisson(S* s, double mean) {
  const double limit = exp(-mean);
  double product = curand_uniform(s);
  unsigned count = 0;
  for (; product > limit; ++count) product *= curand_uniform(s);
  return count;
}
template <class S>
inline void skipahead(unsigned long long n, S* s) {
  while (n-- > 0) curand(s);
}
