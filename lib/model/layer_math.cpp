#include "model/layer_math.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>

#include "model/kernels.hpp"

namespace leap::model {
namespace {

/// Floats a thread takes at least.
constexpr std::int64_t kGrain = 16384;

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

std::int64_t rows_per_thread(std::int64_t row) {
  return std::max<std::int64_t>(1, kGrain / row);
}

/// oneDNN's product, the faster one here; a handle without operator where LibTorch has none.
using PointwiseLinear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                                   std::string_view, c10::List<std::optional<at::Scalar>>,
                                   std::optional<std::string_view>);
const std::optional<c10::TypedOperatorHandle<PointwiseLinear>>& onednn_linear() {
  static const auto handle = []() -> std::optional<c10::TypedOperatorHandle<PointwiseLinear>> {
    auto found = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!found) return std::nullopt;
    return found->typed<PointwiseLinear>();
  }();
  return handle;
}

/// x right, `right` [k, columns] by any strides.
at::Tensor product(const at::Tensor& x, const at::Tensor& right) {
  // A handful of rows are faster without the set-up.
  if (is_plain(x) && x.size(0) >= 16 && onednn_linear()) {
    return onednn_linear()->call(x, right.t(), std::nullopt, "none", c10::List<std::optional<at::Scalar>>(),
                                 std::nullopt);
  }
  return at::mm(x, right);
}

}  // namespace

bool is_plain(const at::Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat;
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  if (!is_plain(x)) {
    const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor v = x.to(wide);
    return (v * (v.square().mean(-1, true) + eps).rsqrt() * weight).to(x.scalar_type());
  }
  at::Tensor out = at::empty_like(x);
  const std::int64_t n = x.size(-1), rows = x.numel() / n;
  const float *from = x.const_data_ptr<float>(), *w = weight.const_data_ptr<float>();
  float* to = out.data_ptr<float>();
  at::parallel_for(0, rows, rows_per_thread(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      kernels().rms_norm(from + i * n, w, size(n), static_cast<float>(eps), to + i * n);
  });
  return out;
}

void rms_norm_gradient(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& grad,
                       at::Tensor& x_grad, at::Tensor& weight_grad) {
  const std::int64_t n = x.size(-1), rows = x.numel() / n;
  if (!is_plain(x)) {
    const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor v = x.to(wide), g = grad.to(wide), r = (v.square().mean(-1, true) + eps).rsqrt();
    const at::Tensor up = g * weight;
    x_grad.add_(r * up - v * (r.pow(3) * (up * v).mean(-1, true)));
    if (weight_grad.defined()) weight_grad.add_((g * v * r).view({rows, n}).sum(0));
    return;
  }
  // Each part of the rows sums the weight's gradient for itself.
  const std::int64_t parts = std::clamp<std::int64_t>(rows / rows_per_thread(n), 1, at::get_num_threads());
  at::Tensor sums;
  if (weight_grad.defined()) sums = at::zeros({parts, n}, x.options());
  const float *v = x.const_data_ptr<float>(), *w = weight.const_data_ptr<float>(),
              *g = grad.const_data_ptr<float>();
  float *to = x_grad.data_ptr<float>(), *own = sums.defined() ? sums.data_ptr<float>() : nullptr;
  at::parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      for (std::int64_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i) {
        kernels().rms_norm_gradient(v + i * n, w, g + i * n, size(n), static_cast<float>(eps), to + i * n,
                                    own == nullptr ? nullptr : own + part * n);
      }
    }
  });
  if (sums.defined()) weight_grad.add_(sums.sum(0));
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (!is_plain(gate)) return at::silu(gate) * up;
  at::Tensor out = at::empty_like(gate);
  const float *g = gate.const_data_ptr<float>(), *u = up.const_data_ptr<float>();
  float* to = out.data_ptr<float>();
  at::parallel_for(0, gate.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels().swiglu(g + begin, u + begin, size(end - begin), to + begin);
  });
  return out;
}

void swiglu_gradient(at::Tensor& gate, at::Tensor& up, at::Tensor& grad) {
  if (!is_plain(gate)) {
    const at::Tensor s = gate.sigmoid(), silu = gate * s, out = silu * up;
    gate = grad * up * (s + silu * (1 - s));
    up = grad * silu;
    grad = out;
    return;
  }
  float *g = gate.data_ptr<float>(), *u = up.data_ptr<float>(), *d = grad.data_ptr<float>();
  at::parallel_for(0, gate.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels().swiglu_gradient(g + begin, u + begin, d + begin, size(end - begin));
  });
}

namespace {

/// One head's row, turned by the angle's cosine and sine (or back, with the sine's sign changed).
void turn(const float* from, const float* cos, const float* sin, float sign, std::int64_t half, float* to) {
  for (std::int64_t i = 0; i < half; ++i) {
    const float real = from[i], imaginary = from[i + half], s = sign * sin[i];
    to[i] = real * cos[i] - imaginary * s;
    to[i + half] = imaginary * cos[i] + real * s;
  }
}

/// Between [tokens, kv_heads, group, head_dim] (`by_token`) and [kv_heads, tokens, group, head_dim].
void regroup(const at::Tensor& x, at::Tensor& out, bool from_tokens, const at::Tensor& cos,
             const at::Tensor& sin) {
  const at::Tensor& heads = from_tokens ? out : x;
  const std::int64_t kv_heads = heads.size(0), tokens = heads.size(1), group = heads.size(2),
                     dim = heads.size(3);
  const float *from = x.const_data_ptr<float>(), *c = nullptr, *s = nullptr;
  if (cos.defined()) {
    c = cos.const_data_ptr<float>();
    s = sin.const_data_ptr<float>();
  }
  float* to = out.data_ptr<float>();
  at::parallel_for(
      0, tokens, rows_per_thread(kv_heads * group * dim), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          for (std::int64_t head = 0; head < kv_heads; ++head) {
            for (std::int64_t g = 0; g < group; ++g) {
              const std::int64_t by_token = ((t * kv_heads + head) * group + g) * dim;
              const std::int64_t by_head = ((head * tokens + t) * group + g) * dim;
              const float* row = from + (from_tokens ? by_token : by_head);
              float* target = to + (from_tokens ? by_head : by_token);
              if (c != nullptr) {
                turn(row, c + t * dim / 2, s + t * dim / 2, from_tokens ? 1.0F : -1.0F, dim / 2, target);
              } else {
                std::copy(row, row + dim, target);
              }
            }
          }
        }
      });
}

/// The same for tensors of any kind; cos and sin broadcast to x.
at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor real = x.narrow(-1, 0, half), imaginary = x.narrow(-1, half, half);
  return at::cat({real * cos - imaginary * sin, imaginary * cos + real * sin}, -1).to(x.scalar_type());
}

}  // namespace

at::Tensor split_heads(const at::Tensor& x, std::int64_t kv_heads, std::int64_t head_dim,
                       const at::Tensor& cos, const at::Tensor& sin) {
  const std::int64_t tokens = x.size(0), group = x.size(1) / head_dim / kv_heads;
  if (is_plain(x)) {
    at::Tensor out = at::empty({kv_heads, tokens, group, head_dim}, x.options());
    regroup(x, out, true, cos, sin);
    return out;
  }
  const at::Tensor heads = x.view({tokens, kv_heads, group, head_dim}).transpose(0, 1);
  if (!cos.defined()) return heads.contiguous();
  return turned(heads, cos.unsqueeze(1), sin.unsqueeze(1)).contiguous();
}

at::Tensor merge_heads(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const std::int64_t tokens = x.size(1), width = x.size(0) * x.size(2) * x.size(3);
  if (is_plain(x)) {
    at::Tensor out = at::empty({tokens, width}, x.options());
    regroup(x, out, false, cos, sin);
    return out;
  }
  const at::Tensor back = cos.defined() ? turned(x, cos.unsqueeze(1), -sin.unsqueeze(1)) : x;
  return back.transpose(0, 1).reshape({tokens, width});
}

at::Tensor times_transposed(const at::Tensor& x, const at::Tensor& weight) {
  return product(x, weight.t());
}

at::Tensor times(const at::Tensor& g, const at::Tensor& weight) {
  return product(g, weight);
}

}  // namespace leap::model
