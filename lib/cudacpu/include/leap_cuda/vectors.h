// Built-in vector types, dim3, and their make_ functions.
#pragma once

#include <cstddef>
#include <cstdint>

#define LEAP_VECTORS(T, NAME, ALIGN2, ALIGN4)                          \
  struct NAME##1 {                                                     \
    T x;                                                               \
  };                                                                   \
  struct alignas(ALIGN2) NAME##2 {                                     \
    T x, y;                                                            \
  };                                                                   \
  struct NAME##3 {                                                     \
    T x, y, z;                                                         \
  };                                                                   \
  struct alignas(ALIGN4) NAME##4 {                                     \
    T x, y, z, w;                                                      \
  };                                                                   \
  static inline constexpr NAME##1 make_##NAME##1(T x) {                \
    return {x};                                                        \
  }                                                                    \
  static inline constexpr NAME##2 make_##NAME##2(T x, T y) {           \
    return {x, y};                                                     \
  }                                                                    \
  static inline constexpr NAME##3 make_##NAME##3(T x, T y, T z) {      \
    return {x, y, z};                                                  \
  }                                                                    \
  static inline constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                                               \
  }

LEAP_VECTORS(signed char, char, 2, 4)
LEAP_VECTORS(unsigned char, uchar, 2, 4)
LEAP_VECTORS(short, short, 4, 8)
LEAP_VECTORS(unsigned short, ushort, 4, 8)
LEAP_VECTORS(int, int, 8, 16)
LEAP_VECTORS(unsigned int, uint, 8, 16)
LEAP_VECTORS(long, long, 16, 16)
LEAP_VECTORS(unsigned long, ulong, 16, 16)
LEAP_VECTORS(long long, longlong, 16, 16)
LEAP_VECTORS(unsigned long long, ulonglong, 16, 16)
LEAP_VECTORS(float, float, 8, 16)
LEAP_VECTORS(double, double, 16, 16)
#undef LEAP_VECTORS

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
