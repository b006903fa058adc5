// Functions of the device's math library that C++ lacks.
#include <cfenv>
#include <cmath>
#include <limits>

namespace leap_cuda {

/// Quantile of the standard normal distribution: a rational start (Acklam), then two Halley steps.
double inverse_normal(double p) {
  if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p == 0) return -std::numeric_limits<double>::infinity();
  if (p == 1) return std::numeric_limits<double>::infinity();
  static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                             1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                             6.680131188771972e+01, -1.328068155288572e+01};
  static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                             -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                             3.754408661907416e+00};
  double x;
  if (p < 0.02425 || p > 1 - 0.02425) {
    const double q = std::sqrt(-2 * std::log(p < 0.5 ? p : 1 - p));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    if (p > 0.5) x = -x;
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  for (int i = 0; i < 2; ++i) {
    const double error = 0.5 * std::erfc(-x * M_SQRT1_2) - p;
    const double u = error * std::sqrt(2 * M_PI) * std::exp(x * x / 2);
    x -= u / (1 + x * u / 2);
  }
  return x;
}

}  // namespace leap_cuda

/// The modified Bessel function of order 0: its series, which has no cancellation.
double cyl_bessel_i0(double x) {
  const double quarter = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; k < 1000 && term > sum * 1e-17; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}
float cyl_bessel_i0f(float x) {
  return static_cast<float>(cyl_bessel_i0(static_cast<double>(x)));
}

namespace leap_cuda {
namespace {

/// Operands and result are volatile: nothing is worked out ahead or merged.
template <class T, class F>
T in_mode(int mode, F operation) {
  const int old = fegetround();
  fesetround(mode);
  volatile T result = operation();
  fesetround(old);
  return result;
}

}  // namespace
}  // namespace leap_cuda

#define LEAP_BINARY(NAME, T, MODE, SYMBOL)                          \
  T NAME(T a, T b) {                                                \
    volatile T x = a, y = b;                                        \
    return leap_cuda::in_mode<T>(MODE, [&] { return x SYMBOL y; }); \
  }
#define LEAP_UNARY(NAME, R, T, MODE, EXPRESSION)                    \
  R NAME(T a) {                                                     \
    volatile T x = a;                                               \
    return leap_cuda::in_mode<R>(MODE, [&] { return EXPRESSION; }); \
  }
#define LEAP_MODE(SUFFIX, MODE)                                                            \
  LEAP_BINARY(__fadd_##SUFFIX, float, MODE, +)                                             \
  LEAP_BINARY(__fsub_##SUFFIX, float, MODE, -)                                             \
  LEAP_BINARY(__fmul_##SUFFIX, float, MODE, *)                                             \
  LEAP_BINARY(__fdiv_##SUFFIX, float, MODE, /)                                             \
  LEAP_BINARY(__dadd_##SUFFIX, double, MODE, +)                                            \
  LEAP_BINARY(__dsub_##SUFFIX, double, MODE, -)                                            \
  LEAP_BINARY(__dmul_##SUFFIX, double, MODE, *)                                            \
  LEAP_BINARY(__ddiv_##SUFFIX, double, MODE, /)                                            \
  LEAP_UNARY(__frcp_##SUFFIX, float, float, MODE, 1.0f / x)                                \
  LEAP_UNARY(__fsqrt_##SUFFIX, float, float, MODE, std::sqrt(x))                           \
  LEAP_UNARY(__drcp_##SUFFIX, double, double, MODE, 1.0 / x)                               \
  LEAP_UNARY(__dsqrt_##SUFFIX, double, double, MODE, std::sqrt(x))                         \
  LEAP_UNARY(__double2float_##SUFFIX, float, double, MODE, static_cast<float>(x))          \
  LEAP_UNARY(__int2float_##SUFFIX, float, int, MODE, static_cast<float>(x))                \
  LEAP_UNARY(__uint2float_##SUFFIX, float, unsigned, MODE, static_cast<float>(x))          \
  LEAP_UNARY(__ll2float_##SUFFIX, float, long long, MODE, static_cast<float>(x))           \
  LEAP_UNARY(__ull2float_##SUFFIX, float, unsigned long long, MODE, static_cast<float>(x)) \
  float __fmaf_##SUFFIX(float a, float b, float c) {                                       \
    volatile float x = a;                                                                  \
    return leap_cuda::in_mode<float>(MODE, [&] { return std::fma(x, b, c); });             \
  }                                                                                        \
  double __fma_##SUFFIX(double a, double b, double c) {                                    \
    volatile double x = a;                                                                 \
    return leap_cuda::in_mode<double>(MODE, [&] { return std::fma(x, b, c); });            \
  }
LEAP_MODE(rz, FE_TOWARDZERO)
LEAP_MODE(ru, FE_UPWARD)
LEAP_MODE(rd, FE_DOWNWARD)
#undef LEAP_MODE
#undef LEAP_UNARY
#undef LEAP_BINARY

namespace leap_cuda {
namespace {

template <class F>
unsigned by_parts(unsigned a, unsigned b, int bits, F operation) {
  const unsigned mask = bits == 16 ? 0xffffu : 0xffu;
  unsigned out = 0;
  for (int i = 0; i < 32; i += bits)
    out |= (static_cast<unsigned>(operation(a >> i & mask, b >> i & mask)) & mask) << i;
  return out;
}

}  // namespace
}  // namespace leap_cuda

#define LEAP_PARTS(NAME, BITS, T, EXPRESSION)                           \
  unsigned NAME(unsigned a, unsigned b) {                               \
    return leap_cuda::by_parts(a, b, BITS, [](unsigned p, unsigned q) { \
      const int x = static_cast<T>(p), y = static_cast<T>(q);           \
      return EXPRESSION;                                                \
    });                                                                 \
  }
LEAP_PARTS(__vadd4, 8, unsigned char, x + y)
LEAP_PARTS(__vadd2, 16, unsigned short, x + y)
LEAP_PARTS(__vsub4, 8, unsigned char, x - y)
LEAP_PARTS(__vsub2, 16, unsigned short, x - y)
LEAP_PARTS(__vaddss4, 8, signed char, x + y > 127 ? 127 : x + y < -128 ? -128 : x + y)
LEAP_PARTS(__vaddus4, 8, unsigned char, x + y > 255 ? 255 : x + y)
LEAP_PARTS(__vsubss4, 8, signed char, x - y > 127 ? 127 : x - y < -128 ? -128 : x - y)
LEAP_PARTS(__vsubus4, 8, unsigned char, x - y < 0 ? 0 : x - y)
LEAP_PARTS(__vmaxs4, 8, signed char, x > y ? x : y)
LEAP_PARTS(__vmaxu4, 8, unsigned char, x > y ? x : y)
LEAP_PARTS(__vmins4, 8, signed char, x < y ? x : y)
LEAP_PARTS(__vminu4, 8, unsigned char, x < y ? x : y)
LEAP_PARTS(__vabsdiffu4, 8, unsigned char, x > y ? x - y : y - x)
LEAP_PARTS(__vcmpeq4, 8, unsigned char, x == y ? 255 : 0)
LEAP_PARTS(__vcmpne4, 8, unsigned char, x != y ? 255 : 0)
LEAP_PARTS(__vcmpgtu4, 8, unsigned char, x > y ? 255 : 0)
LEAP_PARTS(__vcmpgts4, 8, signed char, x > y ? 255 : 0)
LEAP_PARTS(__vseteq4, 8, unsigned char, x == y)
LEAP_PARTS(__vavgu4, 8, unsigned char, (x + y + 1) >> 1)
#undef LEAP_PARTS
