// Atomic operations, one after another as far as threads can see.
#include "leap_cuda/atomics.h"
#include "leap_cuda/half.h"

namespace leap_cuda {

void tried_in_vain() {
  static thread_local unsigned tries = 0;
  if (++tries < 16) return;
  tries = 0;
  yield();
}

namespace {

/// Reads by way of an atomic that changes nothing are how threads wait.
template <class T>
void maybe_waits(T operand) {
  if (operand == T(0)) tried_in_vain();
}

#define LEAP_ATOMIC_BUILTIN(NAME, BUILTIN)                                    \
  template <class T>                                                          \
  LEAP_UNCHECKED __attribute__((noinline)) T NAME(T* at, T value, int line) { \
    LEAP_ATOMIC_ACCESS(at);                                                   \
    return BUILTIN(at, value, __ATOMIC_SEQ_CST);                              \
  }
LEAP_ATOMIC_BUILTIN(builtin_add, __atomic_fetch_add)
LEAP_ATOMIC_BUILTIN(builtin_and, __atomic_fetch_and)
LEAP_ATOMIC_BUILTIN(builtin_or, __atomic_fetch_or)
LEAP_ATOMIC_BUILTIN(builtin_xor, __atomic_fetch_xor)
LEAP_ATOMIC_BUILTIN(builtin_exchange, __atomic_exchange_n)
#undef LEAP_ATOMIC_BUILTIN

}  // namespace
}  // namespace leap_cuda

#define LEAP_ATOMIC_INTEGER(T)                              \
  T atomicAdd(T* at, T v, int line) {                       \
    leap_cuda::maybe_waits(v);                              \
    return leap_cuda::builtin_add(at, v, line);             \
  }                                                         \
  T atomicExch(T* at, T v, int line) {                      \
    return leap_cuda::builtin_exchange(at, v, line);        \
  }                                                         \
  T atomicAnd(T* at, T v, int line) {                       \
    return leap_cuda::builtin_and(at, v, line);             \
  }                                                         \
  T atomicOr(T* at, T v, int line) {                        \
    leap_cuda::maybe_waits(v);                              \
    return leap_cuda::builtin_or(at, v, line);              \
  }                                                         \
  T atomicXor(T* at, T v, int line) {                       \
    return leap_cuda::builtin_xor(at, v, line);             \
  }                                                         \
  T atomicMin(T* at, T v, int line) {                       \
    return leap_cuda::atomic_change(                        \
        at, [v](T o) -> T { return v < o ? v : o; }, line); \
  }                                                         \
  T atomicMax(T* at, T v, int line) {                       \
    return leap_cuda::atomic_change(                        \
        at, [v](T o) -> T { return v > o ? v : o; }, line); \
  }                                                         \
  T atomicCAS(T* at, T e, T v, int line) {                  \
    return leap_cuda::atomic_compare(at, e, v, line);       \
  }
LEAP_ATOMIC_INTEGER(int)
LEAP_ATOMIC_INTEGER(unsigned)
LEAP_ATOMIC_INTEGER(unsigned long long)
#undef LEAP_ATOMIC_INTEGER
long long atomicMin(long long* at, long long v, int line) {
  return leap_cuda::atomic_change(
      at, [v](long long o) { return v < o ? v : o; }, line);
}
long long atomicMax(long long* at, long long v, int line) {
  return leap_cuda::atomic_change(
      at, [v](long long o) { return v > o ? v : o; }, line);
}
long long atomicAnd(long long* at, long long v, int line) {
  return leap_cuda::builtin_and(at, v, line);
}
long long atomicOr(long long* at, long long v, int line) {
  return leap_cuda::builtin_or(at, v, line);
}
long long atomicXor(long long* at, long long v, int line) {
  return leap_cuda::builtin_xor(at, v, line);
}
unsigned short atomicCAS(unsigned short* at, unsigned short e, unsigned short v, int line) {
  return leap_cuda::atomic_compare(at, e, v, line);
}
float atomicAdd(float* at, float v, int line) {
  return leap_cuda::atomic_change(
      at, [v](float o) { return o + v; }, line);
}
double atomicAdd(double* at, double v, int line) {
  return leap_cuda::atomic_change(
      at, [v](double o) { return o + v; }, line);
}
float2 atomicAdd(float2* at, float2 v, int line) {
  return {atomicAdd(&at->x, v.x, line), atomicAdd(&at->y, v.y, line)};
}
float4 atomicAdd(float4* at, float4 v, int line) {
  return {atomicAdd(&at->x, v.x, line), atomicAdd(&at->y, v.y, line), atomicAdd(&at->z, v.z, line),
          atomicAdd(&at->w, v.w, line)};
}
float atomicExch(float* at, float v, int line) {
  return leap_cuda::atomic_change(
      at, [v](float) { return v; }, line);
}
int atomicSub(int* at, int v, int line) {
  return leap_cuda::builtin_add(at, -v, line);
}
unsigned atomicSub(unsigned* at, unsigned v, int line) {
  return leap_cuda::builtin_add(at, 0u - v, line);
}
unsigned atomicInc(unsigned* at, unsigned v, int line) {
  return leap_cuda::atomic_change(
      at, [v](unsigned o) { return o >= v ? 0u : o + 1; }, line);
}
unsigned atomicDec(unsigned* at, unsigned v, int line) {
  return leap_cuda::atomic_change(
      at, [v](unsigned o) { return o == 0 || o > v ? v : o - 1; }, line);
}

#define LEAP_ATOMIC_HALF(H, ADD)                   \
  H atomicAdd(H* at, const H& v, int line) {       \
    return leap_cuda::atomic_change(               \
        at, [v](H o) { return ADD(o, v); }, line); \
  }
LEAP_ATOMIC_HALF(__half, __hadd)
LEAP_ATOMIC_HALF(__half2, __hadd2)
LEAP_ATOMIC_HALF(__nv_bfloat16, __hadd)
LEAP_ATOMIC_HALF(__nv_bfloat162, __hadd2)
#undef LEAP_ATOMIC_HALF
