// Atomic operations on device memory.
#pragma once

#include <type_traits>

#include "leap_cuda/device.h"

namespace leap_cuda {

#ifdef LEAP_CHECKED
#define LEAP_ATOMIC_ACCESS(AT) atomic_access(AT, sizeof(*AT), line)
#else
#define LEAP_ATOMIC_ACCESS(AT) (void)line
#endif

template <std::size_t N>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = unsigned long long;
};

/// *at = change(*at), in one step; gives what was there.
template <class T, class F>
LEAP_UNCHECKED __attribute__((noinline)) T atomic_change(T* at, F change, int line) {
  using Word = typename WordOf<sizeof(T)>::Type;
  LEAP_ATOMIC_ACCESS(at);
  Word* word = reinterpret_cast<Word*>(at);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (true) {
    T value;
    __builtin_memcpy(static_cast<void*>(&value), &old, sizeof(T));
    const T changed = change(value);
    Word next;
    __builtin_memcpy(&next, static_cast<const void*>(&changed), sizeof(T));
    if (__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return value;
  }
}

// Threads that try again and again let others run.
inline thread_local unsigned failed_tries = 0;
inline void tried_in_vain() {
  if (++failed_tries >= 16) {
    failed_tries = 0;
    yield();
  }
}

template <class T>
LEAP_UNCHECKED __attribute__((noinline)) T atomic_compare(T* at, T expected, T value, int line) {
  using Word = typename WordOf<sizeof(T)>::Type;
  LEAP_ATOMIC_ACCESS(at);
  Word old, next;
  __builtin_memcpy(&old, static_cast<const void*>(&expected), sizeof(T));
  __builtin_memcpy(&next, static_cast<const void*>(&value), sizeof(T));
  if (!__atomic_compare_exchange_n(reinterpret_cast<Word*>(at), &old, next, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST))
    tried_in_vain();
  T seen;
  __builtin_memcpy(static_cast<void*>(&seen), &old, sizeof(T));
  return seen;
}

template <class T>
inline bool same_bits(const T& a, const T& b) {
  return __builtin_memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(T)) == 0;
}

/// Reads by way of an atomic that changes nothing are how threads wait.
template <class T>
inline void maybe_waits(T operand) {
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

}  // namespace leap_cuda

#define LEAP_ATOMIC_INTEGER(T)                                   \
  inline T atomicAdd(T* at, T v, LEAP_LINE) {                    \
    leap_cuda::maybe_waits(v);                                   \
    return leap_cuda::builtin_add(at, v, leap_line);             \
  }                                                              \
  inline T atomicExch(T* at, T v, LEAP_LINE) {                   \
    return leap_cuda::builtin_exchange(at, v, leap_line);        \
  }                                                              \
  inline T atomicAnd(T* at, T v, LEAP_LINE) {                    \
    return leap_cuda::builtin_and(at, v, leap_line);             \
  }                                                              \
  inline T atomicOr(T* at, T v, LEAP_LINE) {                     \
    leap_cuda::maybe_waits(v);                                   \
    return leap_cuda::builtin_or(at, v, leap_line);              \
  }                                                              \
  inline T atomicXor(T* at, T v, LEAP_LINE) {                    \
    return leap_cuda::builtin_xor(at, v, leap_line);             \
  }                                                              \
  inline T atomicMin(T* at, T v, LEAP_LINE) {                    \
    return leap_cuda::atomic_change(                             \
        at, [v](T o) -> T { return v < o ? v : o; }, leap_line); \
  }                                                              \
  inline T atomicMax(T* at, T v, LEAP_LINE) {                    \
    return leap_cuda::atomic_change(                             \
        at, [v](T o) -> T { return v > o ? v : o; }, leap_line); \
  }                                                              \
  inline T atomicCAS(T* at, T e, T v, LEAP_LINE) {               \
    return leap_cuda::atomic_compare(at, e, v, leap_line);       \
  }
LEAP_ATOMIC_INTEGER(int)
LEAP_ATOMIC_INTEGER(unsigned)
LEAP_ATOMIC_INTEGER(unsigned long long)
#undef LEAP_ATOMIC_INTEGER
inline long long atomicMin(long long* at, long long v, LEAP_LINE) {
  return leap_cuda::atomic_change(
      at, [v](long long o) { return v < o ? v : o; }, leap_line);
}
inline long long atomicMax(long long* at, long long v, LEAP_LINE) {
  return leap_cuda::atomic_change(
      at, [v](long long o) { return v > o ? v : o; }, leap_line);
}
inline long long atomicAnd(long long* at, long long v, LEAP_LINE) {
  return leap_cuda::builtin_and(at, v, leap_line);
}
inline long long atomicOr(long long* at, long long v, LEAP_LINE) {
  return leap_cuda::builtin_or(at, v, leap_line);
}
inline long long atomicXor(long long* at, long long v, LEAP_LINE) {
  return leap_cuda::builtin_xor(at, v, leap_line);
}
inline unsigned short atomicCAS(unsigned short* at, unsigned short e, unsigned short v, LEAP_LINE) {
  return leap_cuda::atomic_compare(at, e, v, leap_line);
}
inline float atomicAdd(float* at, float v, LEAP_LINE) {
  return leap_cuda::atomic_change(
      at, [v](float o) { return o + v; }, leap_line);
}
inline double atomicAdd(double* at, double v, LEAP_LINE) {
  return leap_cuda::atomic_change(
      at, [v](double o) { return o + v; }, leap_line);
}
inline float2 atomicAdd(float2* at, float2 v, LEAP_LINE) {
  return {atomicAdd(&at->x, v.x, leap_line), atomicAdd(&at->y, v.y, leap_line)};
}
inline float4 atomicAdd(float4* at, float4 v, LEAP_LINE) {
  return {atomicAdd(&at->x, v.x, leap_line), atomicAdd(&at->y, v.y, leap_line),
          atomicAdd(&at->z, v.z, leap_line), atomicAdd(&at->w, v.w, leap_line)};
}
inline float atomicExch(float* at, float v, LEAP_LINE) {
  return leap_cuda::atomic_change(
      at, [v](float) { return v; }, leap_line);
}
inline int atomicSub(int* at, int v, LEAP_LINE) {
  return leap_cuda::builtin_add(at, -v, leap_line);
}
inline unsigned atomicSub(unsigned* at, unsigned v, LEAP_LINE) {
  return leap_cuda::builtin_add(at, 0u - v, leap_line);
}
inline unsigned atomicInc(unsigned* at, unsigned v, LEAP_LINE) {
  return leap_cuda::atomic_change(
      at, [v](unsigned o) { return o >= v ? 0u : o + 1; }, leap_line);
}
inline unsigned atomicDec(unsigned* at, unsigned v, LEAP_LINE) {
  return leap_cuda::atomic_change(
      at, [v](unsigned o) { return o == 0 || o > v ? v : o - 1; }, leap_line);
}

#define LEAP_ATOMIC_SCOPES(NAME)                                                            \
  template <class T, class U>                                                               \
  inline auto NAME##_block(T* at, U v, LEAP_LINE)->decltype(NAME(at, static_cast<T>(v))) {  \
    return NAME(at, static_cast<T>(v), leap_line);                                          \
  }                                                                                         \
  template <class T, class U>                                                               \
  inline auto NAME##_system(T* at, U v, LEAP_LINE)->decltype(NAME(at, static_cast<T>(v))) { \
    return NAME(at, static_cast<T>(v), leap_line);                                          \
  }
LEAP_ATOMIC_SCOPES(atomicAdd)
LEAP_ATOMIC_SCOPES(atomicSub)
LEAP_ATOMIC_SCOPES(atomicExch)
LEAP_ATOMIC_SCOPES(atomicMin)
LEAP_ATOMIC_SCOPES(atomicMax)
LEAP_ATOMIC_SCOPES(atomicAnd)
LEAP_ATOMIC_SCOPES(atomicOr)
LEAP_ATOMIC_SCOPES(atomicXor)
LEAP_ATOMIC_SCOPES(atomicInc)
LEAP_ATOMIC_SCOPES(atomicDec)
#undef LEAP_ATOMIC_SCOPES
template <class T, class U, class V>
inline T atomicCAS_block(T* at, U e, V v, LEAP_LINE) {
  return atomicCAS(at, static_cast<T>(e), static_cast<T>(v), leap_line);
}
template <class T, class U, class V>
inline T atomicCAS_system(T* at, U e, V v, LEAP_LINE) {
  return atomicCAS(at, static_cast<T>(e), static_cast<T>(v), leap_line);
}
