// For the tests of the emulation: buffers on both sides, and expectations.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "leap_cuda/hooks.h"

static int failures = 0;
#define EXPECT(...)                                                        \
  do {                                                                     \
    if (!(__VA_ARGS__)) {                                                  \
      if (++failures < 20) std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__); \
    }                                                                      \
  } while (0)

template <class T>
struct Buffer {
  std::vector<T> host;
  T* device = nullptr;
  explicit Buffer(size_t n) : host(n) { cudaMalloc(&device, n * sizeof(T)); }
  ~Buffer() { cudaFree(device); }
  void up() { cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice); }
  void down() { cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost); }
  void set(int byte) { cudaMemset(device, byte, host.size() * sizeof(T)); }
};

static inline bool near(double got, double want, double tolerance = 1e-5) {
  return std::fabs(got - want) <= tolerance * (1 + std::fabs(want));
}

/// The order of threads and the number of workers come from the environment.
static struct Begin {
  Begin() {
    leap_cuda::Settings settings;
    if (const char* order = std::getenv("ORDER")) settings.order = std::atoi(order);
    if (const char* workers = std::getenv("WORKERS")) settings.workers = std::atoi(workers);
    leap_cuda::begin(settings);
  }
} begin_now;

static inline int done() {
  std::printf(failures ? "%d failures\n" : "ok\n", failures);
  return failures != 0;
}
