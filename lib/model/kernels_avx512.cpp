// Compiled with -mavx512f -mavx512bw (see CMakeLists.txt).
#if defined(__x86_64__)
namespace leap::model {
namespace {
constexpr int kWidth = 16;
constexpr int kTileRows = 8;
constexpr const char* kName = "avx512";
}  // namespace
}  // namespace leap::model
#include "model/kernels.inc"

namespace leap::model {
const Kernels* kernels_avx512() {
  return &kKernels;
}
}  // namespace leap::model
#else
#include "model/kernels.hpp"

namespace leap::model {
const Kernels* kernels_avx512() {
  return nullptr;
}
}  // namespace leap::model
#endif
