#include "model/tree_attention.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/kernels.hpp"
#include "model/layer_math.hpp"

namespace leap::model {
namespace {

/// Tokens whose scores exist at the same time, for each head.
constexpr std::int64_t kBlock = 128;

/// Some consecutive tokens of a segment, and what they attend to.
struct Task {
  struct Range {
    std::int64_t start = 0, length = 0;
  };
  std::int64_t start = 0, length = 0;
  std::vector<Range> keys;  ///< the ancestors', then those of the own segment up to the last token
  std::int64_t before = 0;  ///< keys that the first token sees, itself not counted
  std::int64_t seen() const { return before + length; }
};

std::vector<Task> tasks_of(const std::vector<Segment>& segments) {
  std::vector<Task> out;
  for (const Segment& segment : segments) {
    std::vector<Task::Range> ancestors;
    for (std::int64_t at = segment.parent; at >= 0;) {
      const Segment& parent = segments[static_cast<std::size_t>(at)];
      ancestors.push_back({parent.start, parent.length});
      at = parent.parent;
    }
    std::reverse(ancestors.begin(), ancestors.end());
    for (std::int64_t from = 0; from < segment.length; from += kBlock) {
      Task task{segment.start + from, std::min(kBlock, segment.length - from), ancestors,
                segment.position + from};
      task.keys.push_back({segment.start, from + task.length});
      // Neighbouring ranges are one.
      std::vector<Task::Range> joined;
      for (const Task::Range& range : task.keys) {
        if (!joined.empty() && joined.back().start + joined.back().length == range.start) {
          joined.back().length += range.length;
        } else {
          joined.push_back(range);
        }
      }
      task.keys = std::move(joined);
      out.push_back(std::move(task));
    }
  }
  return out;
}

double scale_of(const at::Tensor& q) {
  return 1 / std::sqrt(static_cast<double>(q.size(-1)));
}

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// float32 on the CPU: a task and head at a time, a thread each; the products are ATen's.

/// The rows and columns of one head that a task works with, and its scores.
class HeadTask {
 public:
  HeadTask(const Task& task, std::int64_t group) : task_(task), group_(group) {
    const auto panel = static_cast<std::int64_t>(kPanel);
    stride_ = (task.seen() + panel - 1) / panel * panel;  // as Kernels::exponentials writes
  }

  /// [rows, seen], in a buffer of its own.
  at::Tensor scores(const at::Tensor& options_of) const {
    return at::empty({rows(), stride_}, options_of.options());
  }
  std::int64_t rows() const { return task_.length * group_; }
  std::int64_t stride() const { return stride_; }

  /// The task's queries, or what has their shape, of `x` [tokens * group, n].
  at::Tensor queries(const at::Tensor& x) const { return x.narrow(0, task_.start * group_, rows()); }

  /// out[rows, seen] = left right^T over the keys of `right` [tokens, head_dim]
  void against_keys(const at::Tensor& left, const at::Tensor& right, at::Tensor& out) const {
    each([&](const Task::Range& range, std::int64_t at) {
      at::Tensor part = out.narrow(1, at, range.length);
      at::mm_out(part, left, right.narrow(0, range.start, range.length).t());
    });
  }

  /// out[rows, n] = p right, over the keys of `right` [tokens, n]
  void with_keys(const at::Tensor& p, const at::Tensor& right, at::Tensor& out) const {
    each([&](const Task::Range& range, std::int64_t at) {
      const at::Tensor keys = right.narrow(0, range.start, range.length),
                       part = p.narrow(1, at, range.length);
      if (at == 0) {
        at::mm_out(out, part, keys);
      } else {
        out.addmm_(part, keys);
      }
    });
  }

  /// keys [tokens, n] += p^T rows
  void to_keys(const at::Tensor& p, const at::Tensor& rows, const at::Tensor& keys) const {
    each([&](const Task::Range& range, std::int64_t at) {
      keys.narrow(0, range.start, range.length).addmm_(p.narrow(1, at, range.length).t(), rows);
    });
  }

  /// For each row (its number, scores, how many of them its token sees); the others become 0.
  template <class Body>
  void each_row(at::Tensor& scores, Body body) const {
    for (std::int64_t row = 0; row < rows(); ++row) {
      const std::int64_t seen = task_.before + row / group_ + 1;
      float* at = scores.data_ptr<float>() + row * stride_;
      body(row, at, seen);
      std::fill(at + seen, at + stride_, 0.0F);
    }
  }

 private:
  template <class Body>
  void each(Body body) const {
    std::int64_t at = 0;
    for (const Task::Range& range : task_.keys) {
      body(range, at);
      at += range.length;
    }
  }

  const Task& task_;
  std::int64_t group_, stride_;
};

/// [kv_heads, tokens, ..] of one head, rows by group.
at::Tensor head_of(const at::Tensor& x, std::int64_t head) {
  const at::Tensor one = x.select(0, head);
  return one.dim() == 3 ? one.flatten(0, 1) : one;
}

/// Pairs of task and head, dealt to the threads: the dearest first, each to the thread that has least. Fixed
/// by the segments alone, so that sums do not depend on how threads run.
std::vector<std::vector<std::pair<const Task*, std::int64_t>>> shares(const std::vector<Task>& tasks,
                                                                      std::int64_t heads) {
  std::vector<std::pair<const Task*, std::int64_t>> all;
  for (const Task& task : tasks) {
    for (std::int64_t head = 0; head < heads; ++head) all.emplace_back(&task, head);
  }
  const auto cost = [](const Task& task) { return task.length * (task.seen() + 32); };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return cost(*a.first) > cost(*b.first); });
  std::vector<std::vector<std::pair<const Task*, std::int64_t>>> out(
      std::min<std::size_t>(size(at::get_num_threads()), all.size()));
  std::vector<std::int64_t> load(out.size(), 0);
  for (const auto& pair : all) {
    const auto least = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    out[least].push_back(pair);
    load[least] += cost(*pair.first);
  }
  return out;
}

/// body(share, task, head) for every pair, a thread a share.
template <class Body>
void in_parallel(const std::vector<std::vector<std::pair<const Task*, std::int64_t>>>& dealt, Body body) {
  at::parallel_for(0, static_cast<std::int64_t>(dealt.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    for (std::int64_t share = begin; share < end; ++share) {
      for (const auto& [task, head] : dealt[size(share)]) body(share, *task, head);
    }
  });
}

Attention plain_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const std::vector<Task>& tasks) {
  const std::int64_t heads = q.size(0), tokens = q.size(1), group = q.size(2), dim = q.size(3);
  const auto scale = static_cast<float>(scale_of(q));
  Attention result{at::empty_like(q), at::empty({heads, tokens, group}, q.options())};
  float* log_sums = result.log_sums.data_ptr<float>();
  in_parallel(shares(tasks, heads), [&](std::int64_t, const Task& whole, std::int64_t head) {
    const HeadTask task(whole, group);
    at::Tensor scores = task.scores(q), out = task.queries(head_of(result.out, head));
    task.against_keys(task.queries(head_of(q, head)), head_of(k, head), scores);
    float* own = log_sums + (head * tokens + whole.start) * group;
    std::vector<float> sums(size(task.rows()));
    task.each_row(scores, [&](std::int64_t row, float* x, std::int64_t seen) {
      const float top = kernels().maximum(x, size(seen));
      sums[size(row)] = kernels().exponentials(x, size(seen), top, scale);
      own[row] = top * scale + std::log(sums[size(row)]);
    });
    task.with_keys(scores, head_of(v, head), out);
    float* to = out.data_ptr<float>();  // divided last: there are fewer numbers now
    for (std::int64_t row = 0; row < task.rows(); ++row) {
      const float inverse = 1 / sums[size(row)];
      for (std::int64_t j = 0; j < dim; ++j) to[row * dim + j] *= inverse;
    }
  });
  return result;
}

AttentionGradient plain_gradient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Attention& attention, const at::Tensor& out_grad,
                                 const std::vector<Task>& tasks) {
  const std::int64_t heads = q.size(0), tokens = q.size(1), group = q.size(2), dim = q.size(3);
  const auto scale = static_cast<float>(scale_of(q));
  const auto dealt = shares(tasks, heads);
  const auto threads = static_cast<std::int64_t>(dealt.size());
  AttentionGradient grad{at::empty_like(q), {}, {}};
  // Branches meet in the keys and values they share, so each thread sums for itself.
  const at::Tensor k_grad = at::zeros({threads, heads, tokens, dim}, q.options()),
                   v_grad = at::zeros_like(k_grad);
  in_parallel(dealt, [&](std::int64_t share, const Task& whole, std::int64_t head) {
    const HeadTask task(whole, group);
    const at::Tensor queries = task.queries(head_of(q, head)), up = task.queries(head_of(out_grad, head)),
                     out = task.queries(head_of(attention.out, head));
    at::Tensor p = task.scores(q), slope = task.scores(q), to_queries = task.queries(head_of(grad.q, head));
    task.against_keys(queries, head_of(k, head), p);
    task.against_keys(up, head_of(v, head), slope);
    const float *log_sums =
                    attention.log_sums.const_data_ptr<float>() + (head * tokens + whole.start) * group,
                *a = up.const_data_ptr<float>(), *b = out.const_data_ptr<float>();
    task.each_row(p, [&](std::int64_t row, float* x, std::int64_t seen) {
      kernels().exponentials(x, size(seen), log_sums[row] / scale, scale);
    });
    // With D = sum(out_grad out), the gradient of a score is p (slope - D) scale.
    const float* probabilities = p.const_data_ptr<float>();
    task.each_row(slope, [&](std::int64_t row, float* x, std::int64_t seen) {
      const float along = kernels().dot(a + row * dim, b + row * dim, size(dim));
      kernels().softmax_gradient(x, probabilities + row * task.stride(), size(seen), along, scale);
    });
    task.with_keys(slope, head_of(k, head), to_queries);
    task.to_keys(p, up, v_grad[share][head]);
    task.to_keys(slope, queries, k_grad[share][head]);
  });
  grad.k = threads == 1 ? k_grad[0] : k_grad.sum(0);
  grad.v = threads == 1 ? v_grad[0] : v_grad.sum(0);
  return grad;
}

// Everything else: a task at a time, all heads together.

/// The keys of `task` from [heads, tokens, n].
at::Tensor keys_of(const Task& task, const at::Tensor& x) {
  std::vector<at::Tensor> parts;
  parts.reserve(task.keys.size());
  for (const Task::Range& range : task.keys) parts.push_back(x.narrow(1, range.start, range.length));
  return parts.size() == 1 ? parts.front() : at::cat(parts, 1);
}

/// [heads, rows, n] of the task's tokens from [heads, tokens, group, n].
at::Tensor queries_of(const Task& task, const at::Tensor& x) {
  return x.narrow(1, task.start, task.length).flatten(1, 2);
}

/// Scaled products with minus infinity where a token does not see a key; of bfloat16, in float.
at::Tensor masked_scores(const Task& task, const at::Tensor& q, const at::Tensor& k) {
  const at::Tensor queries = queries_of(task, q);
  at::Tensor scores = at::bmm(queries, keys_of(task, k).transpose(1, 2));
  if (scores.scalar_type() == at::kBFloat16) scores = scores.to(at::kFloat);
  const auto options = at::TensorOptions().dtype(at::kLong).device(q.device());
  const at::Tensor last = at::arange(task.before, task.seen(), options).repeat_interleave(q.size(2));
  const at::Tensor hidden = at::arange(task.seen(), options).unsqueeze(0).gt(last.unsqueeze(1));
  return scores.mul_(scale_of(q)).masked_fill_(hidden, -std::numeric_limits<double>::infinity());
}

Attention general_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<Task>& tasks) {
  const std::int64_t heads = q.size(0), group = q.size(2);
  const at::ScalarType wide = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  Attention result{at::empty_like(q), at::empty({heads, q.size(1), group}, q.options().dtype(wide))};
  for (const Task& task : tasks) {
    const at::Tensor scores = masked_scores(task, q, k), sums = scores.logsumexp(-1, true);
    const at::Tensor p = (scores - sums).exp().to(q.scalar_type());
    result.log_sums.narrow(1, task.start, task.length).copy_(sums.view({heads, task.length, group}));
    result.out.narrow(1, task.start, task.length)
        .copy_(at::bmm(p, keys_of(task, v)).view({heads, task.length, group, q.size(3)}));
  }
  return result;
}

AttentionGradient general_gradient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                   const Attention& attention, const at::Tensor& out_grad,
                                   const std::vector<Task>& tasks) {
  const at::ScalarType wide = attention.log_sums.scalar_type();
  AttentionGradient grad{at::empty_like(q), at::zeros(k.sizes(), k.options().dtype(wide)),
                         at::zeros(v.sizes(), v.options().dtype(wide))};
  for (const Task& task : tasks) {
    const at::Tensor up = queries_of(task, out_grad), queries = queries_of(task, q);
    const at::Tensor along = (up.to(wide) * queries_of(task, attention.out).to(wide)).sum(-1, true);
    const at::Tensor sums = queries_of(task, attention.log_sums.unsqueeze(-1));
    const at::Tensor p = (masked_scores(task, q, k) - sums).exp();
    const at::Tensor slope = at::bmm(up, keys_of(task, v).transpose(1, 2)).to(wide);
    const at::Tensor score = (p * (slope - along) * scale_of(q)).to(q.scalar_type());
    grad.q.narrow(1, task.start, task.length)
        .copy_(at::bmm(score, keys_of(task, k)).view({q.size(0), task.length, q.size(2), q.size(3)}));
    const at::Tensor to_k = at::bmm(score.transpose(1, 2), queries),
                     to_v = at::bmm(p.to(q.scalar_type()).transpose(1, 2), up);
    std::int64_t at = 0;
    for (const Task::Range& range : task.keys) {
      grad.k.narrow(1, range.start, range.length).add_(to_k.narrow(1, at, range.length));
      grad.v.narrow(1, range.start, range.length).add_(to_v.narrow(1, at, range.length));
      at += range.length;
    }
  }
  grad.k = grad.k.to(k.scalar_type());
  grad.v = grad.v.to(v.scalar_type());
  return grad;
}

}  // namespace

Attention tree_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::vector<Segment>& segments) {
  const std::vector<Task> tasks = tasks_of(segments);
  return is_plain(q) ? plain_attention(q, k, v, tasks) : general_attention(q, k, v, tasks);
}

AttentionGradient tree_attention_gradient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const Attention& attention, const at::Tensor& out_grad,
                                          const std::vector<Segment>& segments) {
  const std::vector<Task> tasks = tasks_of(segments);
  return is_plain(q) ? plain_gradient(q, k, v, attention, out_grad, tasks)
                     : general_gradient(q, k, v, attention, out_grad, tasks);
}

}  // namespace leap::model
