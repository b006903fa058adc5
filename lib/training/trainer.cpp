#include "training/trainer.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "model/packed.hpp"
#include "training/split.hpp"

namespace leap::training {
namespace {

constexpr double kDefaultCompletionLength = 1024;

at::Tensor float_tensor(const std::vector<float>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kFloat));
}

std::int64_t common_beginning(const Action& a, const Action& b) {
  const auto id = [](const Action& action, std::size_t i) {
    const std::size_t prompt = action.prompt.size();
    return i < prompt ? action.prompt[i] : action.completion[i - prompt];
  };
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t n = 0;
  while (n < most && id(a, n) == id(b, n)) ++n;
  return static_cast<std::int64_t>(n);
}

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  /// Of all threads of the process.
  double cpu_seconds() const {
    return static_cast<double>(std::clock() - cpu_start_) / static_cast<double>(CLOCKS_PER_SEC);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::clock_t cpu_start_ = std::clock();
};

}  // namespace

/// What is summed over the passes of a step and over ranks.
struct Trainer::Totals {
  double loss = 0;
  TokenStats stats = {};
  // |trainer - sampler| over the tokens with a usable recorded log-prob, and the correction factors.
  double difference_sum = 0, difference_max = 0, correction_sum = 0;
  std::int64_t compared = 0, corrected = 0;
  std::int64_t computed = 0,
               unshared = 0;  // tokens of the forward passes, and of passes for each action alone
};

/// One step in progress.
struct Trainer::Pass : Totals {
  Batch& batch;
  std::vector<int> owners = {};      // by action: the rank that trains it
  std::vector<double> factors = {};  // by action
  std::vector<bool> fills_old = {};  // by action: this pass's log-probs become the old ones
  bool record_reference = false;     // the records' ref_logprobs are the reference
};

Trainer::Trainer(TrainerOptions options, const Policy& policy, ReferenceSource reference, const Ranks& ranks)
    : options_(options),
      policy_(policy.decoder()),
      reference_source_(std::move(reference)),
      ranks_(ranks),
      optimiser_(policy.trained(), options.adam, ranks) {}

/// An action of advantage 0 counts in the denominators, but its terms and their gradient are 0.
bool Trainer::needs_forward(const Action& action) const {
  if (action.masked) return false;
  return action.advantage != 0 || options_.loss.loss == Loss::kSft || options_.loss.beta != 0 ||
         options_.loss.entropy_coef != 0;
}

std::vector<int> Trainer::owners(const Batch& batch) const {
  if (ranks_.alone()) return std::vector<int>(batch.actions.size(), 0);
  std::vector<ActionCost> costs;
  const Action* before = nullptr;
  for (const Action& action : batch.actions) {
    ActionCost& cost = costs.emplace_back();
    if (!needs_forward(action)) continue;
    cost.tokens = static_cast<std::int64_t>(action.size());
    if (before != nullptr) cost.shared = common_beginning(*before, action);
    before = &action;
  }
  return split_actions(costs, ranks_.size());
}

std::vector<Pack> Trainer::packs(const Pass& pass) const {
  const auto& actions = pass.batch.actions;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (pass.owners[i] == ranks_.rank() && needs_forward(actions[i])) chosen.push_back(i);
  }
  return pack(actions, chosen, options_.tokens_per_batch);
}

namespace {

/// Where a pack's completion tokens are predicted, what they are, and their temperatures.
struct Targets {
  at::Tensor rows, ids, temperatures;

  Targets(const Pack& pack, const std::vector<Action>& actions, at::Device device) {
    std::vector<std::int64_t> places, tokens;
    std::vector<float> degrees;
    for (const Pack::Target& target : pack.targets) {
      places.push_back(target.row);
      tokens.push_back(actions[target.action].completion[target.token]);
      degrees.push_back(static_cast<float>(actions[target.action].temperature));
    }
    rows = at::tensor(places).to(device);
    ids = at::tensor(tokens).to(device);
    temperatures = float_tensor(degrees).to(device);
  }
};

}  // namespace

void Trainer::fill_reference(Pass& pass, const Pack& pack) {
  auto& known = pass.batch.reference;
  const auto missing = [&known](const Pack::Target& target) { return known[target.action].empty(); };
  if (std::none_of(pack.targets.begin(), pack.targets.end(), missing)) return;
  if (reference_ == nullptr) reference_ = reference_source_();
  const at::NoGradGuard no_grad;
  model::PackedPass forward(*reference_, pack.packed, {options_.compute, false});
  const Targets targets(pack, pass.batch.actions, reference_->output_weight().device());
  const at::Tensor scores =
      model::score_tokens(forward.forward(false).index_select(0, targets.rows), reference_->output_weight(),
                          targets.ids, targets.temperatures)
          .logprobs.cpu()
          .contiguous();
  const float* from = scores.const_data_ptr<float>();
  for (const Pack::Target& target : pack.targets) {
    known[target.action].resize(pass.batch.actions[target.action].completion.size());
    known[target.action][target.token] = *from++;
  }
}

/// Of the targets from `from` on, as many as `scores` has.
Tokens Trainer::tokens(Pass& pass, const Pack& pack, std::size_t from, const model::TokenScores& scores) {
  const bool sft = options_.loss.loss == Loss::kSft;
  const bool correct = options_.recompute_old && !sft;
  const at::Tensor now = scores.logprobs.detach().cpu().contiguous();
  const float* mine = now.const_data_ptr<float>();
  std::vector<float> old, advantage, correction, reference, factor;
  for (std::size_t i = from; i < from + static_cast<std::size_t>(now.size(0)); ++i, ++mine) {
    const std::size_t t = pack.targets[i].token;
    const Action& action = pass.batch.actions[pack.targets[i].action];
    auto& own = pass.batch.old[pack.targets[i].action];
    const bool recorded = !action.logprobs.empty();
    if (pass.fills_old[pack.targets[i].action]) own[t] = *mine;
    const auto sampler = static_cast<float>(recorded ? action.logprobs[t] : 0);
    old.push_back(own.empty() ? sampler : own[t]);
    advantage.push_back(static_cast<float>(action.advantage));
    factor.push_back(static_cast<float>(pass.factors[pack.targets[i].action]));
    if (recorded) {
      const double difference = std::abs(static_cast<double>(*mine) - static_cast<double>(sampler));
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
                                                : pass.batch.reference[pack.targets[i].action][t]);
    }
  }
  const at::Device device = scores.logprobs.device();
  Tokens out;
  out.logprob = scores.logprobs;
  out.entropy = scores.entropy;
  out.old = float_tensor(old).to(device);
  out.advantage = float_tensor(advantage).to(device);
  out.factor = float_tensor(factor).to(device);
  if (correct) out.correction = float_tensor(correction).to(device);
  if (options_.loss.beta != 0) out.reference = float_tensor(reference).to(device);
  out.lengths = pack.lengths;
  return out;
}

at::Tensor Trainer::loss(Pass& pass, const Pack& pack, std::size_t from, const model::TokenScores& scores) {
  const at::Tensor value = token_loss(options_.loss, tokens(pass, pack, from, scores), pass.stats);
  pass.loss += value.item<double>();
  return value;
}

/// The denominators are those of the whole batch; bnpo's are each rank's own, and its loss is the mean over
/// the ranks that have any token.
void Trainer::set_factors(Pass& pass, double max_length) const {
  const auto& actions = pass.batch.actions;
  const bool local = options_.loss.loss == Loss::kBnpo;
  pass.factors.assign(actions.size(), 0);
  int parts = 0;
  for (int rank = 0; rank < (local ? ranks_.size() : 1); ++rank) {
    const auto counts = [&](std::size_t i) {
      return !actions[i].masked && (!local || pass.owners[i] == rank);
    };
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (counts(i)) lengths.push_back(static_cast<std::int64_t>(actions[i].completion.size()));
    }
    if (!lengths.empty()) ++parts;
    const std::vector<double> factors = token_factors(options_.loss.loss, lengths, max_length);
    auto factor = factors.begin();
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (counts(i)) pass.factors[i] = *factor++ * actions[i].weight;
    }
  }
  for (double& factor : pass.factors) factor /= parts;
}

/// The totals of all ranks, and what this one lacks of the batch.
void Trainer::unite(Pass& pass) const {
  if (ranks_.alone()) return;
  Totals all;
  for (const Totals& rank : ranks_.gather<Totals>(pass)) {
    all.loss += rank.loss;
    all.stats.add(rank.stats);
    all.difference_sum += rank.difference_sum;
    all.difference_max = std::max(all.difference_max, rank.difference_max);
    all.correction_sum += rank.correction_sum;
    all.compared += rank.compared;
    all.corrected += rank.corrected;
    all.computed += rank.computed;
    all.unshared += rank.unshared;
  }
  static_cast<Totals&>(pass) = all;
  unite_old(pass);
}

/// The old log-probs that the ranks computed, for all: a checkpoint holds them, and after a resume other
/// ranks may train the actions.
void Trainer::unite_old(Pass& pass) const {
  std::vector<std::vector<float>*> made;
  std::vector<float> values;
  for (std::size_t i = 0; i < pass.batch.actions.size(); ++i) {
    if (!pass.fills_old[i]) continue;
    made.push_back(&pass.batch.old[i]);  // zeros where another rank fills it
    values.insert(values.end(), made.back()->begin(), made.back()->end());
  }
  if (made.empty()) return;
  const at::Tensor all = float_tensor(values);
  ranks_.sum(all);
  const float* from = all.const_data_ptr<float>();
  for (std::vector<float>* old : made) {
    std::copy_n(from, old->size(), old->begin());
    from += old->size();
  }
}

void Trainer::run(Pass& pass, const Pack& pack) {
  ranks_.check();
  if (options_.loss.beta != 0 && !pass.record_reference) fill_reference(pass, pack);
  model::PackedPass forward(policy_, pack.packed, {options_.compute, options_.checkpointing});
  const at::Tensor hidden = forward.forward(true);
  const Targets targets(pack, pass.batch.actions, hidden.device());
  const at::Tensor rows = hidden.index_select(0, targets.rows), &weight = policy_.output_weight();
  at::Tensor grad;
  if (options_.loss.loss == Loss::kGspo) {  // its ratio is the whole action's
    rows.set_requires_grad(true);
    const auto scores = model::score_tokens(rows, weight, targets.ids, targets.temperatures);
    torch::autograd::backward({loss(pass, pack, 0, scores)}, {});
    grad = rows.grad();
  } else {
    const bool entropy = options_.loss.entropy_coef != 0;
    const auto by_scores = [&](std::int64_t from, const model::TokenScores& scores) {
      const at::AutoGradMode with_gradient(true);
      scores.logprobs.set_requires_grad(true);
      scores.entropy.set_requires_grad(entropy);
      torch::autograd::backward({loss(pass, pack, static_cast<std::size_t>(from), scores)}, {});
      return model::TokenScores{scores.logprobs.grad(), entropy ? scores.entropy.grad() : at::Tensor()};
    };
    grad = model::differentiate_scores(rows, weight, targets.ids, targets.temperatures, by_scores);
  }
  forward.backward(at::zeros_like(hidden).index_add_(0, targets.rows, grad));
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

  Pass pass{{}, batch, owners(batch)};
  pass.record_reference = record_reference;
  double max_length = options_.max_completion_length;
  if (max_length <= 0)
    max_length = recorded_length > 0 ? static_cast<double>(recorded_length) : kDefaultCompletionLength;
  set_factors(pass, max_length);
  for (std::size_t i = 0; i < batch.actions.size(); ++i) {
    const Action& action = batch.actions[i];
    pass.fills_old.push_back(options_.loss.loss != Loss::kSft && needs_forward(action) &&
                             batch.old[i].empty() && (options_.recompute_old || action.logprobs.empty()));
    if (pass.fills_old.back()) batch.old[i].resize(action.completion.size());
  }

  optimiser_.zero_grad();
  for (const Pack& pack : packs(pass)) {
    run(pass, pack);
    pass.computed += static_cast<std::int64_t>(pack.packed.ids.size());
    pass.unshared += pack.unshared;
  }
  unite(pass);
  optimiser_.reduce_gradients();
  const double norm = optimiser_.grad_norm();
  if (!std::isfinite(pass.loss) || !std::isfinite(norm)) {
    optimiser_.zero_grad();
    throw NotFinite("step " + std::to_string(step) +
                    ": the loss or its gradient is not finite, the weights are unchanged; " +
                    "look at the log-probs of the records, or bound the ratio with --delta");
  }
  const double forward_s = clock.seconds();
  const double moved =
      pass.stats.tokens > 0 ? pass.stats.moved_sum / static_cast<double>(pass.stats.tokens) : 0;
  const bool too_far = options_.target_kl > 0 && batch.iteration > 0 && moved > options_.target_kl;
  if (!too_far) {
    if (options_.max_grad_norm > 0) optimiser_.clip(norm, options_.max_grad_norm);
    optimiser_.step(rate, updates + 1);
  }
  optimiser_.zero_grad();
  ++batch.iteration;

  metrics["loss"] = pass.loss;
  metrics["grad_norm"] = norm;
  if (too_far) metrics["skipped"] = metrics["kl_stop"] = true;
  const TokenStats& stats = pass.stats;
  if (stats.tokens > 0) {
    const auto n = static_cast<double>(stats.tokens);
    if (options_.loss.loss != Loss::kSft) {
      metrics["approx_kl"] = moved;
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
  metrics["forward_tokens"] = pass.computed;
  metrics["shared_tokens"] = pass.unshared - pass.computed;
  if (oldest >= 0) metrics["weight_version"] = oldest;
  const double seconds = clock.seconds();
  metrics["measured"] = {{"seconds", seconds},
                         {"cpu_s", clock.cpu_seconds()},
                         {"forward_backward_s", forward_s},
                         {"optimiser_s", seconds - forward_s},
                         {"tokens_per_s", static_cast<double>(forwarded) / std::max(seconds, 1e-9)}};
  return metrics;
}

}  // namespace leap::training
