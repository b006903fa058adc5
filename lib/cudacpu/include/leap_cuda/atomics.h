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
void tried_in_vain();

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

}  // namespace leap_cuda

// In the runtime: what is no template costs a candidate's compilation nothing.
#define LEAP_ATOMIC_INTEGER(T)             \
  T atomicAdd(T* at, T value, LEAP_LINE);  \
  T atomicExch(T* at, T value, LEAP_LINE); \
  T atomicAnd(T* at, T value, LEAP_LINE);  \
  T atomicOr(T* at, T value, LEAP_LINE);   \
  T atomicXor(T* at, T value, LEAP_LINE);  \
  T atomicMin(T* at, T value, LEAP_LINE);  \
  T atomicMax(T* at, T value, LEAP_LINE);  \
  T atomicCAS(T* at, T expected, T value, LEAP_LINE);
LEAP_ATOMIC_INTEGER(int)
LEAP_ATOMIC_INTEGER(unsigned)
LEAP_ATOMIC_INTEGER(unsigned long long)
#undef LEAP_ATOMIC_INTEGER
long long atomicMin(long long* at, long long value, LEAP_LINE);
long long atomicMax(long long* at, long long value, LEAP_LINE);
long long atomicAnd(long long* at, long long value, LEAP_LINE);
long long atomicOr(long long* at, long long value, LEAP_LINE);
long long atomicXor(long long* at, long long value, LEAP_LINE);
unsigned short atomicCAS(unsigned short* at, unsigned short expected, unsigned short value, LEAP_LINE);
float atomicAdd(float* at, float value, LEAP_LINE);
double atomicAdd(double* at, double value, LEAP_LINE);
float2 atomicAdd(float2* at, float2 value, LEAP_LINE);
float4 atomicAdd(float4* at, float4 value, LEAP_LINE);
float atomicExch(float* at, float value, LEAP_LINE);
int atomicSub(int* at, int value, LEAP_LINE);
unsigned atomicSub(unsigned* at, unsigned value, LEAP_LINE);
unsigned atomicInc(unsigned* at, unsigned most, LEAP_LINE);
unsigned atomicDec(unsigned* at, unsigned most, LEAP_LINE);

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
