// Kernels as cases of one program: each is launched by a function of its own. In faults.cu the lines that deserve a
// report end in a comment of its kind.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

struct Case {
  const char* name;
  void (*run)();
  Case* next;
};
inline Case*& cases() {
  static Case* head = nullptr;
  return head;
}
struct Enrol {
  Case self;
  Enrol(const char* name, void (*run)()) : self{name, run, cases()} { cases() = &self; }
};
#define CASE(NAME)                          \
  static void NAME();                       \
  static Enrol enrol_##NAME(#NAME, &NAME); \
  static void NAME()

// Device arrays of n elements with changing small values.
template <class T>
inline T* filled(int n, int modulus = 97, int first = 1) {
  std::vector<T> host(n > 0 ? n : 1);
  for (int i = 0; i < n; ++i) host[i] = static_cast<T>(first + (i * 31 + 7) % modulus);
  T* device = nullptr;
  cudaMalloc(&device, n * sizeof(T));
  cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}
inline float* floats(int n) { return filled<float>(n); }
inline int* ints(int n) { return filled<int>(n); }
template <class T>
inline T* zeros(int n) {
  T* device = nullptr;
  cudaMalloc(&device, n * sizeof(T));
  cudaMemset(device, 0, n * sizeof(T));
  return device;
}
template <class T>
inline std::vector<T> fetched(const T* device, int n) {
  std::vector<T> host(n);
  cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost);
  return host;
}
// A wrong result ends the case.
inline void expect(bool right, int line) {
  if (!right) {
    std::printf("wrong result, line %d\n", line);
    std::fflush(stdout);
  }
}
#define EXPECT(CONDITION) expect(CONDITION, __LINE__)

extern "C" int run_case(const char* name) {
  for (Case* c = cases(); c; c = c->next)
    if (std::strcmp(c->name, name) == 0) {
      c->run();
      return 1;
    }
  return 0;
}
