#include "training/trainer.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace leap::training {
namespace {

constexpr double kDefaultCompletionLength = 1024;

at::Tensor float_tensor(const std::vector<float>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kFloat));
}

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

/// One step in progress.
struct Trainer::Pass {
  Batch& batch;
  std::vector<double> factors = {};  // by action
  bool record_reference = false;     // the records' ref_logprobs are the reference
  double loss = 0;
  TokenStats stats = {};
  // |trainer - sampler| over the tokens with a usable recorded log-prob, and the correction factors.
  double difference_sum = 0, difference_max = 0, correction_sum = 0;
  std::int64_t compared = 0, corrected = 0;
};

Trainer::Trainer(TrainerOptions options, const Policy& policy, ReferenceSource reference)
    : options_(options),
      policy_(policy.decoder()),
      reference_source_(std::move(reference)),
      optimiser_(policy.trained(), options.adam) {}

/// An action of advantage 0 counts in the denominators, but its terms and their gradient are 0.
bool Trainer::needs_forward(const Action& action) const {
  if (action.masked) return false;
  return action.advantage != 0 || options_.loss.loss == Loss::kSft || options_.loss.beta != 0 ||
         options_.loss.entropy_coef != 0;
}

/// Sequences of similar length together, the longest first; each micro-batch within tokens_per_batch, or one
/// sequence.
std::vector<std::vector<std::size_t>> Trainer::micro_batches(const Batch& batch) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < batch.actions.size(); ++i) {
    if (needs_forward(batch.actions[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&batch](std::size_t a, std::size_t b) {
    return batch.actions[a].size() > batch.actions[b].size();
  });
  std::vector<std::vector<std::size_t>> out;
  std::size_t longest = 0;
  for (const std::size_t i : order) {
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(options_.tokens_per_batch, 1));
    if (out.empty() || (out.back().size() + 1) * longest > room) {
      out.emplace_back();
      longest = batch.actions[i].size();
    }
    out.back().push_back(i);
  }
  return out;
}

model::TokenScores Trainer::score(const model::Decoder& model, const Batch& batch,
                                  const std::vector<std::size_t>& members) const {
  std::size_t longest = 0;
  for (const std::size_t i : members) longest = std::max(longest, batch.actions[i].size());
  // Padding stands on the right, where no token of the sequence sees it; only lengths decide what is scored.
  std::vector<std::int64_t> ids(members.size() * longest, 0), places, targets;
  std::vector<float> temperatures;
  for (std::size_t row = 0; row < members.size(); ++row) {
    const Action& action = batch.actions[members[row]];
    const std::size_t start = row * longest, prompt = action.prompt.size();
    std::copy(action.prompt.begin(), action.prompt.end(), ids.begin() + static_cast<std::ptrdiff_t>(start));
    std::copy(action.completion.begin(), action.completion.end(),
              ids.begin() + static_cast<std::ptrdiff_t>(start + prompt));
    for (std::size_t t = 0; t < action.completion.size(); ++t) {
      places.push_back(static_cast<std::int64_t>(start + prompt + t - 1));  // position t-1 scores token t
      targets.push_back(action.completion[t]);
      temperatures.push_back(static_cast<float>(action.temperature));
    }
  }
  const at::Device device = model.output_weight().device();
  const auto rows = static_cast<std::int64_t>(members.size());
  const at::Tensor hidden =
      model.forward(at::tensor(ids).view({rows, static_cast<std::int64_t>(longest)}).to(device));
  return model::score_tokens(hidden.flatten(0, 1).index_select(0, at::tensor(places).to(device)),
                             model.output_weight(), at::tensor(targets).to(device),
                             float_tensor(temperatures).to(device));
}

void Trainer::fill_reference(Pass& pass, const std::vector<std::size_t>& members) {
  auto& known = pass.batch.reference;
  if (std::none_of(members.begin(), members.end(), [&known](std::size_t i) { return known[i].empty(); }))
    return;
  if (reference_ == nullptr) reference_ = reference_source_();
  const at::NoGradGuard no_grad;
  const at::Tensor scores = score(*reference_, pass.batch, members).logprobs.cpu().contiguous();
  const float* from = scores.const_data_ptr<float>();
  for (const std::size_t i : members) {
    const std::size_t length = pass.batch.actions[i].completion.size();
    known[i].assign(from, from + length);
    from += length;
  }
}

Tokens Trainer::tokens(Pass& pass, const std::vector<std::size_t>& members,
                       const model::TokenScores& scores) {
  const bool sft = options_.loss.loss == Loss::kSft;
  const bool correct = options_.recompute_old && !sft;
  const at::Tensor now = scores.logprobs.detach().cpu().contiguous();
  const float* mine = now.const_data_ptr<float>();
  std::vector<float> old, advantage, correction, reference, factor;
  Tokens out;
  for (const std::size_t i : members) {
    const Action& action = pass.batch.actions[i];
    const std::size_t length = action.completion.size();
    auto& own = pass.batch.old[i];
    const bool recorded = !action.logprobs.empty();
    if (!sft && own.empty() && (options_.recompute_old || !recorded)) own.assign(mine, mine + length);
    for (std::size_t t = 0; t < length; ++t) {
      const auto sampler = static_cast<float>(recorded ? action.logprobs[t] : 0);
      old.push_back(own.empty() ? sampler : own[t]);
      advantage.push_back(static_cast<float>(action.advantage));
      factor.push_back(static_cast<float>(pass.factors[i]));
      if (recorded) {
        const double difference = std::abs(static_cast<double>(mine[t]) - static_cast<double>(sampler));
        pass.difference_sum += difference;
        pass.difference_max = std::max(pass.difference_max, difference);
        ++pass.compared;
      }
      if (correct) {
        const float ratio = recorded ? std::exp(own[t] - sampler) : 1.0F;
        correction.push_back(std::min(ratio, static_cast<float>(options_.is_cap)));
        pass.correction_sum += static_cast<double>(correction.back());
        pass.corrected += recorded ? 1 : 0;
      }
      if (options_.loss.beta != 0) {
        reference.push_back(pass.record_reference ? static_cast<float>(action.ref_logprobs[t])
                                                  : pass.batch.reference[i][t]);
      }
    }
    out.lengths.push_back(static_cast<std::int64_t>(length));
    mine += length;
  }
  const at::Device device = scores.logprobs.device();
  out.logprob = scores.logprobs;
  out.entropy = scores.entropy;
  out.old = float_tensor(old).to(device);
  out.advantage = float_tensor(advantage).to(device);
  out.factor = float_tensor(factor).to(device);
  if (correct) out.correction = float_tensor(correction).to(device);
  if (options_.loss.beta != 0) out.reference = float_tensor(reference).to(device);
  return out;
}

void Trainer::run(Pass& pass, const std::vector<std::size_t>& members) {
  if (options_.loss.beta != 0 && !pass.record_reference) fill_reference(pass, members);
  const model::TokenScores scores = score(policy_, pass.batch, members);
  const at::Tensor loss = token_loss(options_.loss, tokens(pass, members, scores), pass.stats);
  pass.loss += loss.item<double>();
  torch::autograd::backward({loss}, {});
}

Json Trainer::step(Batch& batch, std::int64_t step, std::int64_t updates) {
  const Clock clock;
  batch.old.resize(batch.actions.size());
  batch.reference.resize(batch.actions.size());
  std::vector<std::int64_t> lengths;
  std::int64_t masked = 0, truncated = 0, recorded_length = 0, recomputed = 0, forwarded = 0, oldest = -1;
  bool record_reference = options_.record_reference;
  double advantage_sum = 0;
  for (const Action& action : batch.actions) {
    truncated += action.truncated ? 1 : 0;
    masked += action.masked ? 1 : 0;
    if (action.masked) continue;
    lengths.push_back(static_cast<std::int64_t>(action.completion.size()));
    recorded_length = std::max(recorded_length, action.max_tokens);
    record_reference = record_reference && !action.ref_logprobs.empty();
    advantage_sum += action.advantage;
    if (action.weight_version >= 0 && (oldest < 0 || action.weight_version < oldest))
      oldest = action.weight_version;
    if (needs_forward(action)) forwarded += static_cast<std::int64_t>(action.size());
    if (action.logprobs.empty() && options_.loss.loss != Loss::kSft) ++recomputed;
  }
  const auto actions = static_cast<double>(batch.actions.size());
  const auto sequences = static_cast<std::int64_t>(lengths.size());
  const std::int64_t all_tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  const double rate = learning_rate(options_.rate, step);

  Json metrics = {{"step", step}, {"loss", 0.0},          {"grad_norm", 0.0},
                  {"lr", rate},   {"tokens", all_tokens}, {"sequences", sequences}};
  if (sequences == 0) {
    metrics["skipped"] = true;
    metrics["measured"] = {{"seconds", clock.seconds()}};
    return metrics;
  }

  Pass pass{batch};
  pass.record_reference = record_reference;
  double max_length = options_.max_completion_length;
  if (max_length <= 0)
    max_length = recorded_length > 0 ? static_cast<double>(recorded_length) : kDefaultCompletionLength;
  const std::vector<double> factors = token_factors(options_.loss.loss, lengths, max_length);
  auto factor = factors.begin();
  for (const Action& action : batch.actions)
    pass.factors.push_back(action.masked ? 0 : *factor++ * action.weight);

  optimiser_.zero_grad();
  for (const std::vector<std::size_t>& members : micro_batches(batch)) run(pass, members);
  const double norm = optimiser_.grad_norm();
  if (!std::isfinite(pass.loss) || !std::isfinite(norm)) {
    optimiser_.zero_grad();
    throw Error("step " + std::to_string(step) +
                ": the loss or its gradient is not finite, the weights are unchanged; " +
                "look at the log-probs of the records, or bound the ratio with --delta");
  }
  const double forward_s = clock.seconds();
  if (options_.max_grad_norm > 0) optimiser_.clip(norm, options_.max_grad_norm);
  optimiser_.step(rate, updates + 1);
  optimiser_.zero_grad();

  metrics["loss"] = pass.loss;
  metrics["grad_norm"] = norm;
  const TokenStats& stats = pass.stats;
  if (stats.tokens > 0) {
    const auto n = static_cast<double>(stats.tokens);
    if (options_.loss.loss != Loss::kSft) {
      metrics["ratio_min"] = stats.ratio_min;
      metrics["ratio_mean"] = stats.ratio_sum / n;
      metrics["ratio_max"] = stats.ratio_max;
      metrics["clip_low"] = static_cast<double>(stats.clipped_low) / n;
      metrics["clip_high"] = static_cast<double>(stats.clipped_high) / n;
    }
    if (options_.loss.beta != 0) metrics["kl"] = stats.kl_sum / n;
    metrics["entropy"] = stats.entropy_sum / n;
    if (pass.corrected > 0) metrics["correction_mean"] = pass.correction_sum / n;
  }
  if (pass.compared > 0) {
    metrics["logprob_difference_mean"] = pass.difference_sum / static_cast<double>(pass.compared);
    metrics["logprob_difference_max"] = pass.difference_max;
  }
  metrics["advantage_mean"] = advantage_sum / static_cast<double>(sequences);
  metrics["completion_length"] = static_cast<double>(all_tokens) / static_cast<double>(sequences);
  metrics["truncated"] = static_cast<double>(truncated) / actions;
  metrics["masked"] = static_cast<double>(masked) / actions;
  metrics["recomputed"] = recomputed;
  if (oldest >= 0) metrics["weight_version"] = oldest;
  const double seconds = clock.seconds();
  metrics["measured"] = {{"seconds", seconds},
                         {"forward_backward_s", forward_s},
                         {"optimiser_s", seconds - forward_s},
                         {"tokens_per_s", static_cast<double>(forwarded) / std::max(seconds, 1e-9)}};
  return metrics;
}

}  // namespace leap::training
