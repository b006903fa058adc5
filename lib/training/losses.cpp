#include "training/losses.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace leap::training {
namespace {

constexpr double kLargeLogRatio = 80;  // exp of it is finite in fp32

/// gspo: the mean log-ratio of the token's action, one value a token.
at::Tensor sequence_mean(const at::Tensor& log_ratio, const std::vector<std::int64_t>& lengths) {
  std::vector<at::Tensor> means;
  means.reserve(lengths.size());
  std::int64_t start = 0;
  for (const std::int64_t length : lengths) {
    means.push_back(log_ratio.narrow(0, start, length).mean().expand({length}));
    start += length;
  }
  return at::cat(means);
}

void note_ratio(const LossOptions& options, const at::Tensor& ratio, const at::Tensor& advantage,
                TokenStats& stats) {
  const at::Tensor r = ratio.detach();
  const double low = r.min().item<double>();
  const double high = r.max().item<double>();
  stats.ratio_min = stats.tokens == 0 ? low : std::min(stats.ratio_min, low);
  stats.ratio_max = stats.tokens == 0 ? high : std::max(stats.ratio_max, high);
  stats.ratio_sum += r.sum(at::kDouble).item<double>();
  stats.clipped_high += (r.gt(1 + options.epsilon_high) & advantage.gt(0)).sum().item<std::int64_t>();
  if (options.loss != Loss::kCispo) {
    stats.clipped_low += (r.lt(1 - options.epsilon) & advantage.lt(0)).sum().item<std::int64_t>();
  }
}

at::Tensor policy_terms(const LossOptions& options, const Tokens& t, TokenStats& stats) {
  if (options.loss == Loss::kSft) return -t.logprob;
  at::Tensor log_ratio = t.logprob - t.old;
  const at::Tensor moved = log_ratio.detach().clamp_max(kLargeLogRatio).to(at::kDouble);
  stats.moved_sum += (moved.exp() - 1 - moved).sum().item<double>();
  if (options.loss == Loss::kGspo) log_ratio = sequence_mean(log_ratio, t.lengths);
  // Where a bound on the ratio holds, an overflow beyond it must not reach the gradient as 0 * infinity.
  const at::Tensor bounded = log_ratio.clamp_max(kLargeLogRatio);
  const at::Tensor ratio = bounded.exp();
  note_ratio(options, ratio, t.advantage, stats);
  if (options.loss == Loss::kCispo) {
    return -ratio.detach().clamp_max(1 + options.epsilon_high) * t.advantage * t.logprob;
  }
  const bool capped = options.delta.has_value() && options.loss != Loss::kGspo;
  const at::Tensor free = capped ? log_ratio.clamp_max(std::log(*options.delta)).exp()
                                 : at::where(t.advantage < 0, log_ratio, bounded).exp();
  const at::Tensor clipped = ratio.clamp(1 - options.epsilon, 1 + options.epsilon_high);
  return -at::minimum(free * t.advantage, clipped * t.advantage);
}

}  // namespace

void TokenStats::add(const TokenStats& other) {
  if (other.tokens == 0) return;
  ratio_min = tokens == 0 ? other.ratio_min : std::min(ratio_min, other.ratio_min);
  ratio_max = tokens == 0 ? other.ratio_max : std::max(ratio_max, other.ratio_max);
  tokens += other.tokens;
  ratio_sum += other.ratio_sum;
  clipped_low += other.clipped_low;
  clipped_high += other.clipped_high;
  kl_sum += other.kl_sum;
  entropy_sum += other.entropy_sum;
  moved_sum += other.moved_sum;
}

std::vector<double> token_factors(Loss loss, const std::vector<std::int64_t>& lengths, double max_length) {
  const auto actions = static_cast<double>(lengths.size());
  const auto tokens = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  std::vector<double> factors;
  factors.reserve(lengths.size());
  for (const std::int64_t length : lengths) {
    switch (loss) {
      case Loss::kGrpo:
      case Loss::kGspo:
        factors.push_back(1 / (actions * static_cast<double>(length)));
        break;
      case Loss::kDrGrpo:
        factors.push_back(1 / (actions * max_length));
        break;
      case Loss::kBnpo:
      case Loss::kDapo:
      case Loss::kCispo:
      case Loss::kSft:
        factors.push_back(1 / tokens);
        break;
    }
  }
  return factors;
}

at::Tensor token_loss(const LossOptions& options, const Tokens& t, TokenStats& stats) {
  at::Tensor terms = policy_terms(options, t, stats);
  if (t.correction.defined()) terms = terms * t.correction;
  if (options.beta != 0) {
    const at::Tensor distance = t.reference - t.logprob;
    const at::Tensor kl = distance.exp() - distance - 1;
    stats.kl_sum += kl.detach().sum(at::kDouble).item<double>();
    terms = terms + options.beta * kl;
  }
  if (options.entropy_coef != 0) terms = terms - options.entropy_coef * t.entropy;
  stats.entropy_sum += t.entropy.detach().sum(at::kDouble).item<double>();
  stats.tokens += t.logprob.numel();
  return (terms * t.factor).sum();
}

}  // namespace leap::training
