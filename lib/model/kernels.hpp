/// The inner loops of inference and training on the CPU, compiled for several instruction sets and chosen
/// when the program starts. Every output is summed in an order that its row alone fixes, so a sequence's
/// result is the same bits in any batch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leap::model {

/// Matrices stand in panels of this many columns: [columns / kPanel][k][kPanel].
inline constexpr std::size_t kPanel = 32;

struct Kernels {
  const char* name;

  /// c[rows, kPanel] = a[rows, k] panel[k, kPanel], added to what c holds when `add`. `lda`, `ldc` are
  /// strides in floats.
  void (*multiply)(const float* a, std::size_t lda, std::size_t rows, const float* panel, std::size_t k,
                   float* c, std::size_t ldc, bool add);
  /// The same for a panel of bfloat16, widened exactly.
  void (*multiply_bf16)(const float* a, std::size_t lda, std::size_t rows, const std::uint16_t* panel,
                        std::size_t k, float* c, std::size_t ldc, bool add);
  /// out = x / sqrt(mean(x^2) + eps) * weight; `out` may be `x`.
  void (*rms_norm)(const float* x, const float* weight, std::size_t n, float eps, float* out);
  /// gate = silu(gate) * up; n is a multiple of kPanel.
  void (*silu_multiply)(float* gate, const float* up, std::size_t n);
  /// x = exp((x - max) * scale) for n values, zeros up to the next multiple of kPanel; returns their sum.
  /// `max` is the largest of x and scale positive.
  float (*exponentials)(float* x, std::size_t n, float max, float scale);
  float (*maximum)(const float* x, std::size_t n);

  /// out = silu(gate) * up. Any n, as in all that follow.
  void (*swiglu)(const float* gate, const float* up, std::size_t n, float* out);
  /// The gradient of swiglu: `gate` and `up` become theirs, `grad` becomes the output swiglu had.
  void (*swiglu_gradient)(float* gate, float* up, float* grad, std::size_t n);
  /// The gradient of rms_norm: added to `x_grad`, and to `weight_grad` unless it is null.
  void (*rms_norm_gradient)(const float* x, const float* weight, const float* grad, std::size_t n, float eps,
                            float* x_grad, float* weight_grad);
  /// x = p * (x - shift) * scale
  void (*softmax_gradient)(float* x, const float* p, std::size_t n, float shift, float scale);
  /// x = exp((x - max) * scale); returns their sum, and in `weighted` the sum of each times (x - max) *
  /// scale.
  float (*softmax_sums)(float* x, std::size_t n, float max, float scale, float* weighted);
  float (*dot)(const float* a, const float* b, std::size_t n);
};

/// The fastest that this machine runs.
const Kernels& kernels();

/// One a compiled instruction set; null where the machine's architecture has it not.
const Kernels* kernels_avx512();
const Kernels* kernels_avx2();
const Kernels* kernels_portable();

}  // namespace leap::model
