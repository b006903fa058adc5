// Words of CUDA C++ that mean nothing to a C++ compiler, or something else.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(...) __attribute__((aligned(__VA_ARGS__)))
#define __builtin_align__(...) __attribute__((aligned(__VA_ARGS__)))
#define __nv_pure__
#define __device_builtin__
#define __cudart_builtin__
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 131
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 800
#endif
#define __CUDA_ARCH_LIST__ __CUDA_ARCH__
#define LEAP_CUDA_EMULATION 1
