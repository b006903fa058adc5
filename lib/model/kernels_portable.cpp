// For any machine: vectors of four, as every 64-bit architecture has.
namespace leap::model {
namespace {
constexpr int kWidth = 4;
constexpr int kTileRows = 4;
constexpr const char* kName = "portable";
}  // namespace
}  // namespace leap::model
#include "model/kernels.inc"

namespace leap::model {

const Kernels* kernels_portable() {
  return &kKernels;
}

const Kernels& kernels() {
#if defined(__x86_64__)
  static const Kernels& best =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") ? *kernels_avx512()
      : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")       ? *kernels_avx2()
                                                                              : kKernels;
  return best;
#else
  return kKernels;
#endif
}

}  // namespace leap::model
