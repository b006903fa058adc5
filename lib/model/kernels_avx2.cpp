// Compiled with -mavx2 -mfma (see CMakeLists.txt).
#if defined(__x86_64__)
namespace leap::model {
namespace {
constexpr int kWidth = 8;
constexpr int kTileRows = 6;
constexpr const char* kName = "avx2";
}  // namespace
}  // namespace leap::model
#include "model/kernels.inc"

namespace leap::model {
const Kernels* kernels_avx2() {
  return &kKernels;
}
}  // namespace leap::model
#else
#include "model/kernels.hpp"

namespace leap::model {
const Kernels* kernels_avx2() {
  return nullptr;
}
}  // namespace leap::model
#endif
