// Arithmetic of device code: math functions, fast and rounded ones, integer and conversion intrinsics, loads
// with hints.
#pragma once

#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>

#include "leap_cuda/device.h"

using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

// --- min and max, as overloads for every pair that CUDA has
// ----------------------------------------------------------
#define LEAP_MIN_MAX(A, B, R)                                                             \
  inline constexpr R min(A a, B b) {                                                      \
    return static_cast<R>(b) < static_cast<R>(a) ? static_cast<R>(b) : static_cast<R>(a); \
  }                                                                                       \
  inline constexpr R max(A a, B b) {                                                      \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); \
  }
LEAP_MIN_MAX(int, int, int)
LEAP_MIN_MAX(unsigned, unsigned, unsigned)
LEAP_MIN_MAX(int, unsigned, unsigned)
LEAP_MIN_MAX(unsigned, int, unsigned)
LEAP_MIN_MAX(long, long, long)
LEAP_MIN_MAX(unsigned long, unsigned long, unsigned long)
LEAP_MIN_MAX(long, unsigned long, unsigned long)
LEAP_MIN_MAX(unsigned long, long, unsigned long)
LEAP_MIN_MAX(long long, long long, long long)
LEAP_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
LEAP_MIN_MAX(long long, unsigned long long, unsigned long long)
LEAP_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef LEAP_MIN_MAX
inline float min(float a, float b) {
  return fminf(a, b);
}
inline float max(float a, float b) {
  return fmaxf(a, b);
}
inline double min(double a, double b) {
  return fmin(a, b);
}
inline double max(double a, double b) {
  return fmax(a, b);
}
inline double min(float a, double b) {
  return fmin(static_cast<double>(a), b);
}
inline double min(double a, float b) {
  return fmin(a, static_cast<double>(b));
}
inline double max(float a, double b) {
  return fmax(static_cast<double>(a), b);
}
inline double max(double a, float b) {
  return fmax(a, static_cast<double>(b));
}
inline unsigned umin(unsigned a, unsigned b) {
  return min(a, b);
}
inline unsigned umax(unsigned a, unsigned b) {
  return max(a, b);
}
inline long long llmin(long long a, long long b) {
  return min(a, b);
}
inline long long llmax(long long a, long long b) {
  return max(a, b);
}
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return min(a, b);
}
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return max(a, b);
}

// Here and below: a function that is no template uses none where it can, because a compiler instantiates anew
// in every compilation what functions of a precompiled header use.
namespace leap_cuda {
/// Keeps a product or a sum from being merged with what follows.
#if defined(__x86_64__)
#define LEAP_APART(T)       \
  inline T apart(T value) { \
    asm("" : "+x"(value));  \
    return value;           \
  }
#else
#define LEAP_APART(T)       \
  inline T apart(T value) { \
    asm("" : "+w"(value));  \
    return value;           \
  }
#endif
LEAP_APART(float)
LEAP_APART(double)
#undef LEAP_APART
}  // namespace leap_cuda

// --- float and double functions that C++ lacks
// ----------------------------------------------------------------------
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float rsqrt(float x) {
  return rsqrtf(x);
}
inline float rcbrtf(float x) {
  return 1.0f / cbrtf(x);
}
inline double rcbrt(double x) {
  return 1.0 / cbrt(x);
}
inline float rhypotf(float x, float y) {
  return 1.0f / hypotf(x, y);
}
inline double rhypot(double x, double y) {
  return 1.0 / hypot(x, y);
}
inline float norm3df(float x, float y, float z) {
  return sqrtf(x * x + y * y + z * z);
}
inline double norm3d(double x, double y, double z) {
  return sqrt(x * x + y * y + z * z);
}
inline float norm4df(float x, float y, float z, float w) {
  return sqrtf(x * x + y * y + z * z + w * w);
}
inline double norm4d(double x, double y, double z, double w) {
  return sqrt(x * x + y * y + z * z + w * w);
}
inline float rnorm3df(float x, float y, float z) {
  return 1.0f / norm3df(x, y, z);
}
inline float rnorm4df(float x, float y, float z, float w) {
  return 1.0f / norm4df(x, y, z, w);
}
inline float sinpif(float x) {
  return static_cast<float>(sin(M_PI * fmod(static_cast<double>(x), 2.0)));
}
inline float cospif(float x) {
  return static_cast<float>(cos(M_PI * fmod(static_cast<double>(x), 2.0)));
}
inline double sinpi(double x) {
  return sin(M_PI * fmod(x, 2.0));
}
inline double cospi(double x) {
  return cos(M_PI * fmod(x, 2.0));
}
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
inline void sincospi(double x, double* s, double* c) {
  *s = sinpi(x);
  *c = cospi(x);
}
inline double normcdf(double x) {
  return 0.5 * erfc(-x * M_SQRT1_2);
}
inline float normcdff(float x) {
  return static_cast<float>(normcdf(static_cast<double>(x)));
}
inline double erfcx(double x) {
  return exp(x * x) * erfc(x);
}
inline float erfcxf(float x) {
  return static_cast<float>(erfcx(static_cast<double>(x)));
}
namespace leap_cuda {
double inverse_normal(double p);
}
inline double normcdfinv(double p) {
  return leap_cuda::inverse_normal(p);
}
inline float normcdfinvf(float p) {
  return static_cast<float>(leap_cuda::inverse_normal(static_cast<double>(p)));
}
inline double erfinv(double x) {
  return leap_cuda::inverse_normal((x + 1) / 2) * M_SQRT1_2;
}
inline float erfinvf(float x) {
  return static_cast<float>(erfinv(static_cast<double>(x)));
}
inline double erfcinv(double x) {
  return -leap_cuda::inverse_normal(x / 2) * M_SQRT1_2;
}
inline float erfcinvf(float x) {
  return static_cast<float>(erfcinv(static_cast<double>(x)));
}
inline float fdividef(float a, float b) {
  return a / b;
}
double cyl_bessel_i0(double x);
float cyl_bessel_i0f(float x);

inline float __expf(float x) {
  return expf(x);
}
inline float __exp10f(float x) {
  return exp10f(x);
}
inline float __logf(float x) {
  return logf(x);
}
inline float __log2f(float x) {
  return log2f(x);
}
inline float __log10f(float x) {
  return log10f(x);
}
inline float __sinf(float x) {
  return sinf(x);
}
inline float __cosf(float x) {
  return cosf(x);
}
inline float __tanf(float x) {
  return tanf(x);
}
inline float __tanhf(float x) {
  return tanhf(x);
}
inline void __sincosf(float x, float* s, float* c) {
  sincosf(x, s, c);
}
inline float __powf(float a, float b) {
  return powf(a, b);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __saturatef(float x) {
  return fminf(fmaxf(x, 0.0f), 1.0f);
}
inline float __frsqrt_rn(float x) {
  return 1.0f / sqrtf(x);
}

// --- rounding given by name
// -----------------------------------------------------------------------------------------
inline float __fadd_rn(float a, float b) {
  return leap_cuda::apart(a + b);
}
inline float __fsub_rn(float a, float b) {
  return leap_cuda::apart(a - b);
}
inline float __fmul_rn(float a, float b) {
  return leap_cuda::apart(a * b);
}
inline float __fdiv_rn(float a, float b) {
  return leap_cuda::apart(a / b);
}
inline float __fsqrt_rn(float a) {
  return leap_cuda::apart(sqrtf(a));
}
inline float __frcp_rn(float a) {
  return leap_cuda::apart(1.0f / a);
}
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline float __fmaf_ieee_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline double __dadd_rn(double a, double b) {
  return leap_cuda::apart(a + b);
}
inline double __dsub_rn(double a, double b) {
  return leap_cuda::apart(a - b);
}
inline double __dmul_rn(double a, double b) {
  return leap_cuda::apart(a * b);
}
inline double __ddiv_rn(double a, double b) {
  return leap_cuda::apart(a / b);
}
inline double __dsqrt_rn(double a) {
  return leap_cuda::apart(sqrt(a));
}
inline double __drcp_rn(double a) {
  return leap_cuda::apart(1.0 / a);
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}
// In the runtime: they change the processor's rounding mode.
#define LEAP_ROUNDED(SUFFIX)                           \
  float __fadd_##SUFFIX(float a, float b);             \
  float __fsub_##SUFFIX(float a, float b);             \
  float __fmul_##SUFFIX(float a, float b);             \
  float __fdiv_##SUFFIX(float a, float b);             \
  float __frcp_##SUFFIX(float a);                      \
  float __fsqrt_##SUFFIX(float a);                     \
  float __fmaf_##SUFFIX(float a, float b, float c);    \
  double __dadd_##SUFFIX(double a, double b);          \
  double __dsub_##SUFFIX(double a, double b);          \
  double __dmul_##SUFFIX(double a, double b);          \
  double __ddiv_##SUFFIX(double a, double b);          \
  double __drcp_##SUFFIX(double a);                    \
  double __dsqrt_##SUFFIX(double a);                   \
  double __fma_##SUFFIX(double a, double b, double c); \
  float __double2float_##SUFFIX(double a);             \
  float __int2float_##SUFFIX(int a);                   \
  float __uint2float_##SUFFIX(unsigned a);             \
  float __ll2float_##SUFFIX(long long a);              \
  float __ull2float_##SUFFIX(unsigned long long a);
LEAP_ROUNDED(rz)
LEAP_ROUNDED(ru)
LEAP_ROUNDED(rd)
#undef LEAP_ROUNDED

// --- conversions: out of range saturates, NaN is 0
// ------------------------------------------------------------------
namespace leap_cuda {
template <class T>
struct Saturating;
#define LEAP_SATURATING(T, F)                                         \
  static T of(F x) {                                                  \
    if (x != x) return 0;                                             \
    constexpr F low = static_cast<F>(std::numeric_limits<T>::min());  \
    constexpr F high = static_cast<F>(std::numeric_limits<T>::max()); \
    if (x <= low) return std::numeric_limits<T>::min();               \
    if (x >= high) return std::numeric_limits<T>::max();              \
    return static_cast<T>(x);                                         \
  }
#define LEAP_SATURATED(T)      \
  template <>                  \
  struct Saturating<T> {       \
    LEAP_SATURATING(T, float)  \
    LEAP_SATURATING(T, double) \
  };
LEAP_SATURATED(char)
LEAP_SATURATED(signed char)
LEAP_SATURATED(unsigned char)
LEAP_SATURATED(short)
LEAP_SATURATED(unsigned short)
LEAP_SATURATED(int)
LEAP_SATURATED(unsigned)
LEAP_SATURATED(long)
LEAP_SATURATED(unsigned long)
LEAP_SATURATED(long long)
LEAP_SATURATED(unsigned long long)
#undef LEAP_SATURATED
#undef LEAP_SATURATING
}  // namespace leap_cuda
#define LEAP_CONVERT(NAME, F, T)                            \
  inline T NAME##_rn(F x) {                                 \
    return leap_cuda::Saturating<T>::of(std::nearbyint(x)); \
  }                                                         \
  inline T NAME##_rz(F x) {                                 \
    return leap_cuda::Saturating<T>::of(std::trunc(x));     \
  }                                                         \
  inline T NAME##_ru(F x) {                                 \
    return leap_cuda::Saturating<T>::of(std::ceil(x));      \
  }                                                         \
  inline T NAME##_rd(F x) {                                 \
    return leap_cuda::Saturating<T>::of(std::floor(x));     \
  }
LEAP_CONVERT(__float2int, float, int)
LEAP_CONVERT(__float2uint, float, unsigned)
LEAP_CONVERT(__float2ll, float, long long)
LEAP_CONVERT(__float2ull, float, unsigned long long)
LEAP_CONVERT(__double2int, double, int)
LEAP_CONVERT(__double2uint, double, unsigned)
LEAP_CONVERT(__double2ll, double, long long)
LEAP_CONVERT(__double2ull, double, unsigned long long)
#undef LEAP_CONVERT
inline float __double2float_rn(double x) {
  return static_cast<float>(x);
}
#define LEAP_TO_FLOAT(NAME, T)              \
  inline float __##NAME##2float_rn(T x) {   \
    return static_cast<float>(x);           \
  }                                         \
  inline double __##NAME##2double_rn(T x) { \
    return static_cast<double>(x);          \
  }
LEAP_TO_FLOAT(int, int)
LEAP_TO_FLOAT(uint, unsigned)
LEAP_TO_FLOAT(ll, long long)
LEAP_TO_FLOAT(ull, unsigned long long)
#undef LEAP_TO_FLOAT
inline int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
inline unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
inline float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
inline float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
inline long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
inline double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
inline int __double2hiint(double x) {
  return static_cast<int>(__builtin_bit_cast(long long, x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(__builtin_bit_cast(long long, x));
}
inline double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(
      double, static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low));
}

// --- integers
// ---------------------------------------------------------------------------------------------------------
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
inline int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  int at = static_cast<int>(base), left = offset == 0 ? 1 : offset < 0 ? -offset : offset;
  const int step = offset < 0 ? -1 : 1;
  if (offset == 0) return mask >> base & 1 ? base : 0xffffffffu;
  for (; at >= 0 && at < 32; at += step)
    if ((mask >> at & 1) && --left == 0) return static_cast<unsigned>(at);
  return 0xffffffffu;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both << min(shift, 32u) >> 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both >> min(shift, 32u));
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<unsigned>((a << 8 >> 8)) * static_cast<unsigned>((b << 8 >> 8)));
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffffu) * (b & 0xffffffu);
}
inline int __sad(int a, int b, unsigned c) {
  return static_cast<int>((a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b)
                                 : static_cast<unsigned>(b) - static_cast<unsigned>(a)) +
                          c);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return (a > b ? a - b : b - a) + c;
}
inline int __hadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i) & 15;
    unsigned byte = static_cast<unsigned>(both >> (8 * (pick & 7))) & 0xff;
    if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}
namespace leap_cuda {
inline unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned out = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1) out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return out;
}
}  // namespace leap_cuda
#define LEAP_DOT(T, BYTE, SHORT)                                                                        \
  inline T __dp4a(T a, T b, T c) {                                                                      \
    for (int i = 0; i < 32; i += 8)                                                                     \
      c = static_cast<T>(static_cast<unsigned>(c) +                                                     \
                         static_cast<unsigned>(static_cast<BYTE>(a >> i) * static_cast<BYTE>(b >> i))); \
    return c;                                                                                           \
  }                                                                                                     \
  inline T __dp2a_lo(T a, T b, T c) {                                                                   \
    for (int i = 0; i < 2; ++i)                                                                         \
      c = static_cast<T>(                                                                               \
          static_cast<unsigned>(c) +                                                                    \
          static_cast<unsigned>(static_cast<SHORT>(a >> (16 * i)) * static_cast<BYTE>(b >> (8 * i))));  \
    return c;                                                                                           \
  }                                                                                                     \
  inline T __dp2a_hi(T a, T b, T c) {                                                                   \
    return __dp2a_lo(a, b >> 16, c);                                                                    \
  }
LEAP_DOT(int, signed char, short)
LEAP_DOT(unsigned, unsigned char, unsigned short)
#undef LEAP_DOT
inline int __dp4a(char4 a, char4 b, int c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + static_cast<unsigned>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}
// On bytes and halves of a word; in the runtime.
#define LEAP_PARTS(NAME) unsigned NAME(unsigned a, unsigned b);
LEAP_PARTS(__vadd4)
LEAP_PARTS(__vadd2)
LEAP_PARTS(__vsub4)
LEAP_PARTS(__vsub2)
LEAP_PARTS(__vaddss4)
LEAP_PARTS(__vaddus4)
LEAP_PARTS(__vsubss4)
LEAP_PARTS(__vsubus4)
LEAP_PARTS(__vmaxs4)
LEAP_PARTS(__vmaxu4)
LEAP_PARTS(__vmins4)
LEAP_PARTS(__vminu4)
LEAP_PARTS(__vabsdiffu4)
LEAP_PARTS(__vcmpeq4)
LEAP_PARTS(__vcmpne4)
LEAP_PARTS(__vcmpgtu4)
LEAP_PARTS(__vcmpgts4)
LEAP_PARTS(__vseteq4)
LEAP_PARTS(__vavgu4)
#undef LEAP_PARTS
inline unsigned __vsadu4(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (int i = 0; i < 32; i += 8) sum += __usad(a >> i & 255, b >> i & 255, 0);
  return sum;
}

// --- loads and stores with hints
// ------------------------------------------------------------------------------------
#define LEAP_LOAD(NAME)        \
  template <class T>           \
  inline T NAME(const T* at) { \
    return *at;                \
  }
LEAP_LOAD(__ldg)
LEAP_LOAD(__ldca)
LEAP_LOAD(__ldcs)
LEAP_LOAD(__ldcg)
LEAP_LOAD(__ldlu)
LEAP_LOAD(__ldcv)
#undef LEAP_LOAD
#define LEAP_STORE(NAME)                                 \
  template <class T>                                     \
  inline void NAME(T* at, std::common_type_t<T> value) { \
    *at = value;                                         \
  }
LEAP_STORE(__stwb)
LEAP_STORE(__stcg)
LEAP_STORE(__stcs)
LEAP_STORE(__stwt)
#undef LEAP_STORE
inline void __prefetch_global_l1(const void*) {}
inline void __prefetch_global_l2(const void*) {}

// --- addresses
// -------------------------------------------------------------------------------------------------------
inline std::size_t __cvta_generic_to_shared(const void* at) {
  return reinterpret_cast<std::size_t>(at);
}
inline std::size_t __cvta_generic_to_global(const void* at) {
  return reinterpret_cast<std::size_t>(at);
}
inline void* __cvta_shared_to_generic(std::size_t at) {
  return reinterpret_cast<void*>(
      (reinterpret_cast<std::size_t>(leap_cuda::dynamic_shared()) & ~std::size_t{0xffffffff}) |
      (at & 0xffffffff));
}
inline void* __cvta_global_to_generic(std::size_t at) {
  return reinterpret_cast<void*>(at);
}
unsigned leap_is_shared(const void* at);
inline unsigned __isGlobal(const void* at) {
  return !leap_is_shared(at);
}
inline unsigned __isShared(const void* at) {
  return leap_is_shared(at);
}
namespace leap_cuda {
/// From the 32 bits that PTX uses for shared memory, or from a pointer.
template <class T>
inline void* shared_pointer(T at) {
  if (sizeof(T) == 8) return reinterpret_cast<void*>((std::size_t)at);
  return __cvta_shared_to_generic((std::size_t)(unsigned)(std::size_t)at);
}
template <class T>
inline void* any_pointer(T at) {
  return shared_pointer(at);
}
inline void copy_async(void* to, const void* from, std::size_t bytes, std::size_t from_bytes) {
  __builtin_memcpy(to, from, from_bytes < bytes ? from_bytes : bytes);
  if (from_bytes < bytes) __builtin_memset(static_cast<char*>(to) + from_bytes, 0, bytes - from_bytes);
}
template <class T, class F>
inline T ptx_as(const F& value) {
  if constexpr (sizeof(T) == sizeof(F) &&
                std::is_floating_point<T>::value != std::is_floating_point<F>::value)
    return from_bits<T>(to_bits(value));
  else
    return static_cast<T>(value);
}
template <class T, class F>
inline void ptx_assign(T& to, const F& from) {
  to = ptx_as<T>(from);
}
}  // namespace leap_cuda
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0) {
  leap_cuda::copy_async(to, from, bytes, bytes - zeros);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(std::size_t) {}

namespace leap_cuda {
long long clock_now();
}
inline long long clock64() {
  return leap_cuda::clock_now();
}
inline unsigned long long __globaltimer() {
  return static_cast<unsigned long long>(leap_cuda::clock_now());
}
