/// Optimiser steps on batches of actions: micro-batches, forward and backward passes, clipping, AdamW.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "jsonl/json.hpp"
#include "model/decoder.hpp"
#include "model/token_scores.hpp"
#include "training/actions.hpp"
#include "training/losses.hpp"
#include "training/optimiser.hpp"
#include "training/options.hpp"
#include "training/packing.hpp"
#include "training/policy.hpp"
#include "training/ranks.hpp"

namespace leap::training {

/// The actions of some records, for one or more steps.
struct Batch {
  std::vector<Action> actions;
  std::int64_t iteration = 0;  ///< steps done on it
  /// By action, filled by the batch's first step where the record's log-probs do not serve: the trainer's
  /// own.
  std::vector<std::vector<float>> old;
  /// By action, filled by the first step that needs the reference model.
  std::vector<std::vector<float>> reference;
};

/// The loss or its gradient is not finite; the weights are unchanged. All ranks throw it together.
class NotFinite : public Error {
 public:
  using Error::Error;
};

class Trainer {
 public:
  /// `reference` is called at the first step that needs a reference model; it may throw.
  using ReferenceSource = std::function<std::shared_ptr<const model::Decoder>()>;

  /// Of several ranks each trains a part of every batch.
  Trainer(TrainerOptions options, const Policy& policy, ReferenceSource reference, const Ranks& ranks);

  /// One optimiser step on `batch`: number `step` of the run, of which `updates` so far changed the weights.
  /// Returns the step's metrics. A batch without an unmasked token changes nothing and is reported as
  /// skipped, and so is a second or later step on a batch that finds the policy beyond target_kl from the old
  /// one (`kl_stop`): no more steps are to be done on that batch. Throws NotFinite.
  Json step(Batch& batch, std::int64_t step, std::int64_t updates);

  AdamW& optimiser() { return optimiser_; }
  const AdamW& optimiser() const { return optimiser_; }

 private:
  struct Totals;
  struct Pass;

  bool needs_forward(const Action& action) const;
  std::vector<int> owners(const Batch& batch) const;
  std::vector<Pack> packs(const Pass& pass) const;
  void set_factors(Pass& pass, double max_length) const;
  void unite(Pass& pass) const;
  void unite_old(Pass& pass) const;
  void run(Pass& pass, const Pack& pack);
  at::Tensor loss(Pass& pass, const Pack& pack, std::size_t from, const model::TokenScores& scores);
  Tokens tokens(Pass& pass, const Pack& pack, std::size_t from, const model::TokenScores& scores);
  void fill_reference(Pass& pass, const Pack& pack);

  TrainerOptions options_;
  const model::Decoder& policy_;
  ReferenceSource reference_source_;
  std::shared_ptr<const model::Decoder> reference_;
  const Ranks& ranks_;
  AdamW optimiser_;
};

}  // namespace leap::training
