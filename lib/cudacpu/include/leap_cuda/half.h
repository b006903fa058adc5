// __half and __nv_bfloat16: arithmetic in float, rounded once to nearest even.
#pragma once

#include "leap_cuda/atomics.h"
#include "leap_cuda/math.h"

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};
struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};

namespace leap_cuda {

inline unsigned short half_bits(float value) {
  const _Float16 half = static_cast<_Float16>(value);
  unsigned short bits;
  __builtin_memcpy(&bits, &half, 2);
  return bits;
}
inline float half_value(unsigned short bits) {
  _Float16 half;
  __builtin_memcpy(&half, &bits, 2);
  return static_cast<float>(half);
}
inline unsigned short bfloat_bits(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
inline float bfloat_value(unsigned short bits) {
  const unsigned wide = static_cast<unsigned>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return value;
}
/// Doubles go through float without being rounded twice: to odd.
inline float odd_float(double value) {
  float near = static_cast<float>(value);
  if (static_cast<double>(near) == value || value != value || std::isinf(near)) return near;
  unsigned bits;
  __builtin_memcpy(&bits, &near, 4);
  if (bits & 1) return near;
  const bool larger = std::fabs(static_cast<double>(near)) > std::fabs(value);
  bits = larger ? bits - 1 : bits | 1;
  __builtin_memcpy(&near, &bits, 4);
  return near;
}

}  // namespace leap_cuda

#define LEAP_HALF(H, RAW, BITS, VALUE)                                                             \
  struct __attribute__((aligned(2))) H {                                                           \
    unsigned short __x;                                                                            \
    H() = default;                                                                                 \
    H(const RAW& raw) : __x(raw.x) {}                                                              \
    H(float v) : __x(leap_cuda::BITS(v)) {}                                                        \
    H(double v) : __x(leap_cuda::BITS(leap_cuda::odd_float(v))) {}                                 \
    H(short v) : H(static_cast<float>(v)) {}                                                       \
    H(unsigned short v) : H(static_cast<float>(v)) {}                                              \
    H(int v) : H(static_cast<double>(v)) {}                                                        \
    H(unsigned v) : H(static_cast<double>(v)) {}                                                   \
    H(long v) : H(static_cast<double>(v)) {}                                                       \
    H(unsigned long v) : H(static_cast<double>(v)) {}                                              \
    H(long long v) : H(static_cast<double>(v)) {}                                                  \
    H(unsigned long long v) : H(static_cast<double>(v)) {}                                         \
    operator float() const { return leap_cuda::VALUE(__x); }                                       \
    operator bool() const { return (__x & 0x7fff) != 0; }                                          \
    operator signed char() const { return leap_cuda::Saturating<signed char>::of(f()); }               \
    operator unsigned char() const { return leap_cuda::Saturating<unsigned char>::of(f()); }           \
    operator char() const { return leap_cuda::Saturating<char>::of(f()); }                             \
    operator short() const { return leap_cuda::Saturating<short>::of(f()); }                           \
    operator unsigned short() const { return leap_cuda::Saturating<unsigned short>::of(f()); }         \
    operator int() const { return leap_cuda::Saturating<int>::of(f()); }                               \
    operator unsigned() const { return leap_cuda::Saturating<unsigned>::of(f()); }                     \
    operator long() const { return leap_cuda::Saturating<long>::of(f()); }                             \
    operator unsigned long() const { return leap_cuda::Saturating<unsigned long>::of(f()); }           \
    operator long long() const { return leap_cuda::Saturating<long long>::of(f()); }                   \
    operator unsigned long long() const { return leap_cuda::Saturating<unsigned long long>::of(f()); } \
    operator RAW() const { return {__x}; }                                                         \
    H& operator=(const RAW& raw) {                                                                 \
      __x = raw.x;                                                                                 \
      return *this;                                                                                \
    }                                                                                              \
    H& operator=(float v) { return *this = H(v); }                                                 \
    H& operator=(double v) { return *this = H(v); }                                                \
    H& operator=(short v) { return *this = H(v); }                                                 \
    H& operator=(unsigned short v) { return *this = H(v); }                                        \
    H& operator=(int v) { return *this = H(v); }                                                   \
    H& operator=(unsigned v) { return *this = H(v); }                                              \
    H& operator=(long long v) { return *this = H(v); }                                             \
    H& operator=(unsigned long long v) { return *this = H(v); }                                    \
    float f() const { return leap_cuda::VALUE(__x); }                                              \
    static H of(unsigned short bits) {                                                             \
      H h;                                                                                         \
      h.__x = bits;                                                                                \
      return h;                                                                                    \
    }                                                                                              \
  };
LEAP_HALF(__half, __half_raw, half_bits, half_value)
LEAP_HALF(__nv_bfloat16, __nv_bfloat16_raw, bfloat_bits, bfloat_value)
#undef LEAP_HALF

#define LEAP_HALF2(H, H2, RAW2)                               \
  struct __attribute__((aligned(4))) H2 {                     \
    H x, y;                                                   \
    H2() = default;                                           \
    H2(const H& a, const H& b) : x(a), y(b) {}                \
    H2(const RAW2& raw) : x(H::of(raw.x)), y(H::of(raw.y)) {} \
    operator RAW2() const { return {x.__x, y.__x}; }          \
  };
LEAP_HALF2(__half, __half2, __half2_raw)
LEAP_HALF2(__nv_bfloat16, __nv_bfloat162, __nv_bfloat162_raw)
#undef LEAP_HALF2

// Binary functions: on one, on two, as operators.
#define LEAP_HALF_BINARY(H, H2, NAME, NAME2, EXPRESSION) \
  inline H NAME(const H& p, const H& q) {                \
    const float a = p.f(), b = q.f();                    \
    return H(static_cast<float>(EXPRESSION));            \
  }                                                      \
  inline H2 NAME2(const H2& p, const H2& q) {            \
    return H2(NAME(p.x, q.x), NAME(p.y, q.y));           \
  }
#define LEAP_HALF_UNARY(H, H2, NAME, NAME2, EXPRESSION) \
  inline H NAME(const H& p) {                           \
    const float a = p.f();                              \
    return H(static_cast<float>(EXPRESSION));           \
  }                                                     \
  inline H2 NAME2(const H2& p) {                        \
    return H2(NAME(p.x), NAME(p.y));                    \
  }
#define LEAP_HALF_COMPARE(H, H2, NAME, EXPRESSION, UNORDERED)                                    \
  inline bool __h##NAME(const H& p, const H& q) {                                                \
    const float a = p.f(), b = q.f();                                                            \
    return EXPRESSION;                                                                           \
  }                                                                                              \
  inline bool __h##NAME##u(const H& p, const H& q) {                                             \
    const float a = p.f(), b = q.f();                                                            \
    return UNORDERED;                                                                            \
  }                                                                                              \
  inline H2 __h##NAME##2(const H2& p, const H2& q) {                                             \
    return H2(H(__h##NAME(p.x, q.x) ? 1.0f : 0.0f), H(__h##NAME(p.y, q.y) ? 1.0f : 0.0f));       \
  }                                                                                              \
  inline H2 __h##NAME##u2(const H2& p, const H2& q) {                                            \
    return H2(H(__h##NAME##u(p.x, q.x) ? 1.0f : 0.0f), H(__h##NAME##u(p.y, q.y) ? 1.0f : 0.0f)); \
  }                                                                                              \
  inline bool __hb##NAME##2(const H2& p, const H2& q) {                                          \
    return __h##NAME(p.x, q.x) && __h##NAME(p.y, q.y);                                           \
  }                                                                                              \
  inline bool __hb##NAME##u2(const H2& p, const H2& q) {                                         \
    return __h##NAME##u(p.x, q.x) && __h##NAME##u(p.y, q.y);                                     \
  }
#define LEAP_HALF_FUNCTIONS(H, H2)                                                       \
  LEAP_HALF_BINARY(H, H2, __hadd, __hadd2, a + b)                                        \
  LEAP_HALF_BINARY(H, H2, __hsub, __hsub2, a - b)                                        \
  LEAP_HALF_BINARY(H, H2, __hmul, __hmul2, a* b)                                         \
  LEAP_HALF_BINARY(H, H2, __hdiv, __h2div, a / b)                                        \
  LEAP_HALF_BINARY(H, H2, __hadd_rn, __hadd2_rn, a + b)                                  \
  LEAP_HALF_BINARY(H, H2, __hsub_rn, __hsub2_rn, a - b)                                  \
  LEAP_HALF_BINARY(H, H2, __hmul_rn, __hmul2_rn, a* b)                                   \
  LEAP_HALF_BINARY(H, H2, __hadd_sat, __hadd2_sat, __saturatef(a + b))                      \
  LEAP_HALF_BINARY(H, H2, __hsub_sat, __hsub2_sat, __saturatef(a - b))                      \
  LEAP_HALF_BINARY(H, H2, __hmul_sat, __hmul2_sat, __saturatef(a* b))                       \
  LEAP_HALF_BINARY(H, H2, __hmax, __hmax2, fmaxf(a, b))                                  \
  LEAP_HALF_BINARY(H, H2, __hmin, __hmin2, fminf(a, b))                                  \
  LEAP_HALF_BINARY(H, H2, __hmax_nan, __hmax2_nan, a != a || b != b ? NAN : fmaxf(a, b)) \
  LEAP_HALF_BINARY(H, H2, __hmin_nan, __hmin2_nan, a != a || b != b ? NAN : fminf(a, b)) \
  LEAP_HALF_UNARY(H, H2, __hneg, __hneg2, -a)                                            \
  LEAP_HALF_UNARY(H, H2, __habs, __habs2, fabsf(a))                                      \
  LEAP_HALF_UNARY(H, H2, hexp, h2exp, expf(a))                                           \
  LEAP_HALF_UNARY(H, H2, hexp2, h2exp2, exp2f(a))                                        \
  LEAP_HALF_UNARY(H, H2, hexp10, h2exp10, exp10f(a))                                     \
  LEAP_HALF_UNARY(H, H2, hlog, h2log, logf(a))                                           \
  LEAP_HALF_UNARY(H, H2, hlog2, h2log2, log2f(a))                                        \
  LEAP_HALF_UNARY(H, H2, hlog10, h2log10, log10f(a))                                     \
  LEAP_HALF_UNARY(H, H2, hsqrt, h2sqrt, sqrtf(a))                                        \
  LEAP_HALF_UNARY(H, H2, hrsqrt, h2rsqrt, 1.0f / sqrtf(a))                               \
  LEAP_HALF_UNARY(H, H2, hrcp, h2rcp, 1.0f / a)                                          \
  LEAP_HALF_UNARY(H, H2, hsin, h2sin, sinf(a))                                           \
  LEAP_HALF_UNARY(H, H2, hcos, h2cos, cosf(a))                                           \
  LEAP_HALF_UNARY(H, H2, htanh, h2tanh, tanhf(a))                                        \
  LEAP_HALF_UNARY(H, H2, htanh_approx, h2tanh_approx, tanhf(a))                          \
  LEAP_HALF_UNARY(H, H2, hfloor, h2floor, floorf(a))                                     \
  LEAP_HALF_UNARY(H, H2, hceil, h2ceil, ceilf(a))                                        \
  LEAP_HALF_UNARY(H, H2, htrunc, h2trunc, truncf(a))                                     \
  LEAP_HALF_UNARY(H, H2, hrint, h2rint, rintf(a))                                        \
  LEAP_HALF_COMPARE(H, H2, eq, a == b, !(a < b || a > b))                                \
  LEAP_HALF_COMPARE(H, H2, ne, a<b || a> b, a != b)                                      \
  LEAP_HALF_COMPARE(H, H2, lt, a < b, !(a >= b))                                         \
  LEAP_HALF_COMPARE(H, H2, le, a <= b, !(a > b))                                         \
  LEAP_HALF_COMPARE(H, H2, gt, a > b, !(a <= b))                                         \
  LEAP_HALF_COMPARE(H, H2, ge, a >= b, !(a < b))                                         \
  inline H __hfma(const H& a, const H& b, const H& c) {                                  \
    return H(fmaf(a.f(), b.f(), c.f()));                                                 \
  }                                                                                      \
  inline H __hfma_sat(const H& a, const H& b, const H& c) {                              \
    return H(__saturatef(fmaf(a.f(), b.f(), c.f())));                                       \
  }                                                                                      \
  inline H __hfma_relu(const H& a, const H& b, const H& c) {                             \
    return H(fmaxf(fmaf(a.f(), b.f(), c.f()), 0.0f));                                    \
  }                                                                                      \
  inline H2 __hfma2(const H2& a, const H2& b, const H2& c) {                             \
    return H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                             \
  }                                                                                      \
  inline H2 __hfma2_sat(const H2& a, const H2& b, const H2& c) {                         \
    return H2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));                     \
  }                                                                                      \
  inline H2 __hfma2_relu(const H2& a, const H2& b, const H2& c) {                        \
    return H2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));                   \
  }                                                                                      \
  inline bool __hisnan(const H& a) {                                                     \
    return std::isnan(a.f());                                                            \
  }                                                                                      \
  inline int __hisinf(const H& a) {                                                      \
    return std::isinf(a.f()) ? (a.f() < 0 ? -1 : 1) : 0;                                 \
  }                                                                                      \
  inline H2 __hisnan2(const H2& a) {                                                     \
    return H2(H(__hisnan(a.x) ? 1.0f : 0.0f), H(__hisnan(a.y) ? 1.0f : 0.0f));           \
  }                                                                                      \
  inline H operator+(const H& a, const H& b) {                                           \
    return __hadd(a, b);                                                                 \
  }                                                                                      \
  inline H operator-(const H& a, const H& b) {                                           \
    return __hsub(a, b);                                                                 \
  }                                                                                      \
  inline H operator*(const H& a, const H& b) {                                           \
    return __hmul(a, b);                                                                 \
  }                                                                                      \
  inline H operator/(const H& a, const H& b) {                                           \
    return __hdiv(a, b);                                                                 \
  }                                                                                      \
  inline H& operator+=(H& a, const H& b) {                                               \
    return a = __hadd(a, b);                                                             \
  }                                                                                      \
  inline H& operator-=(H& a, const H& b) {                                               \
    return a = __hsub(a, b);                                                             \
  }                                                                                      \
  inline H& operator*=(H& a, const H& b) {                                               \
    return a = __hmul(a, b);                                                             \
  }                                                                                      \
  inline H& operator/=(H& a, const H& b) {                                               \
    return a = __hdiv(a, b);                                                             \
  }                                                                                      \
  inline H& operator++(H& a) {                                                           \
    return a = H(a.f() + 1.0f);                                                          \
  }                                                                                      \
  inline H& operator--(H& a) {                                                           \
    return a = H(a.f() - 1.0f);                                                          \
  }                                                                                      \
  inline H operator+(const H& a) {                                                       \
    return a;                                                                            \
  }                                                                                      \
  inline H operator-(const H& a) {                                                       \
    return __hneg(a);                                                                    \
  }                                                                                      \
  inline bool operator==(const H& a, const H& b) {                                       \
    return __heq(a, b);                                                                  \
  }                                                                                      \
  inline bool operator!=(const H& a, const H& b) {                                       \
    return a.f() != b.f();                                                               \
  }                                                                                      \
  inline bool operator<(const H& a, const H& b) {                                        \
    return __hlt(a, b);                                                                  \
  }                                                                                      \
  inline bool operator<=(const H& a, const H& b) {                                       \
    return __hle(a, b);                                                                  \
  }                                                                                      \
  inline bool operator>(const H& a, const H& b) {                                        \
    return __hgt(a, b);                                                                  \
  }                                                                                      \
  inline bool operator>=(const H& a, const H& b) {                                       \
    return __hge(a, b);                                                                  \
  }                                                                                      \
  inline H2 operator+(const H2& a, const H2& b) {                                        \
    return __hadd2(a, b);                                                                \
  }                                                                                      \
  inline H2 operator-(const H2& a, const H2& b) {                                        \
    return __hsub2(a, b);                                                                \
  }                                                                                      \
  inline H2 operator*(const H2& a, const H2& b) {                                        \
    return __hmul2(a, b);                                                                \
  }                                                                                      \
  inline H2 operator/(const H2& a, const H2& b) {                                        \
    return __h2div(a, b);                                                                \
  }                                                                                      \
  inline H2& operator+=(H2& a, const H2& b) {                                            \
    return a = __hadd2(a, b);                                                            \
  }                                                                                      \
  inline H2& operator-=(H2& a, const H2& b) {                                            \
    return a = __hsub2(a, b);                                                            \
  }                                                                                      \
  inline H2& operator*=(H2& a, const H2& b) {                                            \
    return a = __hmul2(a, b);                                                            \
  }                                                                                      \
  inline H2& operator/=(H2& a, const H2& b) {                                            \
    return a = __h2div(a, b);                                                            \
  }                                                                                      \
  inline H2 operator-(const H2& a) {                                                     \
    return __hneg2(a);                                                                   \
  }                                                                                      \
  inline bool operator==(const H2& a, const H2& b) {                                     \
    return __hbeq2(a, b);                                                                \
  }                                                                                      \
  inline bool operator!=(const H2& a, const H2& b) {                                     \
    return !__hbeq2(a, b);                                                               \
  }                                                                                      \
  inline float __low2float(const H2& a) {                                                \
    return a.x.f();                                                                      \
  }                                                                                      \
  inline float __high2float(const H2& a) {                                               \
    return a.y.f();                                                                      \
  }
LEAP_HALF_FUNCTIONS(__half, __half2)
LEAP_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
#undef LEAP_HALF_FUNCTIONS
__half atomicAdd(__half* at, const __half& value, LEAP_LINE);
__half2 atomicAdd(__half2* at, const __half2& value, LEAP_LINE);
__nv_bfloat16 atomicAdd(__nv_bfloat16* at, const __nv_bfloat16& value, LEAP_LINE);
__nv_bfloat162 atomicAdd(__nv_bfloat162* at, const __nv_bfloat162& value, LEAP_LINE);
#undef LEAP_HALF_BINARY
#undef LEAP_HALF_UNARY
#undef LEAP_HALF_COMPARE

// Conversions; N is how CUDA's names call the type, N2 the pair.
#define LEAP_HALF_CONVERSIONS(H, H2, N, N2)                                      \
  inline H __float2##N(float a) {                                                \
    return H(a);                                                                 \
  }                                                                              \
  inline H __float2##N##_rn(float a) {                                           \
    return H(a);                                                                 \
  }                                                                              \
  inline H __float2##N##_rz(float a) {                                           \
    H h(a);                                                                      \
    if (std::fabs(h.f()) > std::fabs(a) && a == a && !std::isinf(a)) h.__x -= 1; \
    return h;                                                                    \
  }                                                                              \
  inline H __float2##N##_rd(float a) {                                           \
    H h = __float2##N##_rz(a);                                                   \
    if (a < 0 && h.f() > a) h.__x += 1;                                          \
    return h;                                                                    \
  }                                                                              \
  inline H __float2##N##_ru(float a) {                                           \
    H h = __float2##N##_rz(a);                                                   \
    if (a > 0 && h.f() < a) h.__x += 1;                                          \
    return h;                                                                    \
  }                                                                              \
  inline float __##N##2float(const H& a) {                                       \
    return a.f();                                                                \
  }                                                                              \
  inline H __double2##N(double a) {                                              \
    return H(a);                                                                 \
  }                                                                              \
  inline double __##N##2double(const H& a) {                                     \
    return a.f();                                                                \
  }                                                                              \
  inline H2 __float2##N2##_rn(float a) {                                         \
    return H2(H(a), H(a));                                                       \
  }                                                                              \
  inline H2 __floats2##N2##_rn(float a, float b) {                               \
    return H2(H(a), H(b));                                                       \
  }                                                                              \
  inline H2 __float22##N2##_rn(float2 a) {                                       \
    return H2(H(a.x), H(a.y));                                                   \
  }                                                                              \
  inline H __low2##N(const H2& a) {                                              \
    return a.x;                                                                  \
  }                                                                              \
  inline H __high2##N(const H2& a) {                                             \
    return a.y;                                                                  \
  }                                                                              \
  inline H2 __low2##N2(const H2& a) {                                            \
    return H2(a.x, a.x);                                                         \
  }                                                                              \
  inline H2 __high2##N2(const H2& a) {                                           \
    return H2(a.y, a.y);                                                         \
  }                                                                              \
  inline H2 __lows2##N2(const H2& a, const H2& b) {                              \
    return H2(a.x, b.x);                                                         \
  }                                                                              \
  inline H2 __highs2##N2(const H2& a, const H2& b) {                             \
    return H2(a.y, b.y);                                                         \
  }                                                                              \
  inline H2 __halves2##N2(const H& a, const H& b) {                              \
    return H2(a, b);                                                             \
  }                                                                              \
  inline H2 __##N##2##N2(const H& a) {                                           \
    return H2(a, a);                                                             \
  }                                                                              \
  inline H2 make_##N2(const H& a, const H& b) {                                  \
    return H2(a, b);                                                             \
  }                                                                              \
  inline short __##N##_as_short(const H& a) {                                    \
    return static_cast<short>(a.__x);                                            \
  }                                                                              \
  inline unsigned short __##N##_as_ushort(const H& a) {                          \
    return a.__x;                                                                \
  }                                                                              \
  inline H __short_as_##N(short a) {                                             \
    return H::of(static_cast<unsigned short>(a));                                \
  }                                                                              \
  inline H __ushort_as_##N(unsigned short a) {                                   \
    return H::of(a);                                                             \
  }                                                                              \
  LEAP_HALF_INTEGERS(H, N, int, int)                                             \
  LEAP_HALF_INTEGERS(H, N, unsigned, uint)                                       \
  LEAP_HALF_INTEGERS(H, N, short, short)                                         \
  LEAP_HALF_INTEGERS(H, N, unsigned short, ushort)                               \
  LEAP_HALF_INTEGERS(H, N, long long, ll)                                        \
  LEAP_HALF_INTEGERS(H, N, unsigned long long, ull)
#define LEAP_HALF_INTEGERS(H, N, T, TN)             \
  inline T __##N##2##TN##_rn(const H& a) {          \
    return leap_cuda::Saturating<T>::of(rintf(a.f()));  \
  }                                                 \
  inline T __##N##2##TN##_rz(const H& a) {          \
    return leap_cuda::Saturating<T>::of(truncf(a.f())); \
  }                                                 \
  inline T __##N##2##TN##_rd(const H& a) {          \
    return leap_cuda::Saturating<T>::of(floorf(a.f())); \
  }                                                 \
  inline T __##N##2##TN##_ru(const H& a) {          \
    return leap_cuda::Saturating<T>::of(ceilf(a.f()));  \
  }                                                 \
  inline H __##TN##2##N##_rn(T a) {                 \
    return H(static_cast<double>(a));               \
  }                                                 \
  inline H __##TN##2##N##_rz(T a) {                 \
    return __float2##N##_rz(static_cast<float>(a)); \
  }
LEAP_HALF_CONVERSIONS(__half, __half2, half, half2)
LEAP_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
#undef LEAP_HALF_CONVERSIONS
#undef LEAP_HALF_INTEGERS
inline float2 __half22float2(const __half2& a) {
  return {a.x.f(), a.y.f()};
}
inline float2 __bfloat1622float2(const __nv_bfloat162& a) {
  return {a.x.f(), a.y.f()};
}
inline __half2 __lowhigh2highlow(const __half2& a) {
  return __half2(a.y, a.x);
}
inline __nv_bfloat162 __lowhigh2highlow(const __nv_bfloat162& a) {
  return __nv_bfloat162(a.y, a.x);
}
