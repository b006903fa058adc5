// CUDA C++ for a C++ compiler: what <cuda_runtime.h> declares. Compiled once, ahead of candidates. Most of them
// get by with few of the standard headers; the others make every compilation slower, by what they instantiate anew.
#pragma once

// Without the special functions of C++17, which every compilation would instantiate anew.
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <math.h>
#include <stdlib.h>

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#ifdef LEAP_ALL_HEADERS
#include <array>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>
#endif

#include "leap_cuda/half.h"
#include "leap_cuda/groups.h"
#include "leap_cuda/api.h"
#include "leap_cuda/atomics.h"
#include "leap_cuda/device.h"
#include "leap_cuda/math.h"
#include "leap_cuda/qualifiers.h"
#include "leap_cuda/vectors.h"

#ifdef LEAP_CHECKED
// The compiler looks into copies of few bytes only.
inline void* leap_memcpy(void* to, const void* from, std::size_t bytes) {
  if (!__builtin_constant_p(bytes) || bytes > 16) ::leap_cuda::copy_access(to, from, bytes);
  return __builtin_memcpy(to, from, bytes);
}
inline void* leap_memmove(void* to, const void* from, std::size_t bytes) {
  ::leap_cuda::copy_access(to, from, bytes);
  return __builtin_memmove(to, from, bytes);
}
inline void* leap_memset(void* to, int value, std::size_t bytes) {
  ::leap_cuda::copy_access(to, nullptr, bytes);
  return __builtin_memset(to, value, bytes);
}
namespace std {
using ::leap_memcpy;
using ::leap_memmove;
using ::leap_memset;
}  // namespace std
#define memcpy(to, from, bytes) leap_memcpy(to, from, bytes)
#define memmove(to, from, bytes) leap_memmove(to, from, bytes)
#define memset(to, value, bytes) leap_memset(to, value, bytes)
#endif
