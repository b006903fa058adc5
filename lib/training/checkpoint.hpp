/// A checkpoint: a model in Hugging Face layout, and beside it what training goes on from. One directory,
/// replaced as a whole. No path and no time stands in any of its files, so equal runs give equal bytes.
///
///   config.json, tokenizer files, ..   copied from where the weights came from
///   model.safetensors                  names, types and tying of the source; or of an adapter, in place of
///                                      these, adapter_config.json and adapter_model.safetensors
///   leap_state.json                    step, updates, cursor in the input
///   leap_optimizer.safetensors         first.NAME and second.NAME (moments), master.NAME (fp32 weights,
///   where
///                                      the stored type is narrower), old.N (log-probs of a batch that is not
///                                      finished)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/optimiser.hpp"
#include "training/policy.hpp"

namespace leap::training {

/// Where a run stands.
struct State {
  std::int64_t step = 0;     ///< optimiser steps in all
  std::int64_t updates = 0;  ///< of those, the ones that changed the weights
  // The cursor: finished batches of this input, and steps done on the next one.
  std::int64_t batches = 0;
  std::int64_t iteration = 0;
  std::int64_t run_steps = 0;  ///< steps on this input
  // The cursor counts in these, so a resumed run must use the same.
  std::int64_t records_per_step = 0;
  std::int64_t num_iterations = 1;
  /// Recomputed old log-probs by action of the next batch, when steps were done on it (an action without:
  /// empty).
  std::vector<std::vector<float>> old;
};

/// Has a checkpoint been written to `dir`?
bool is_checkpoint(const std::string& dir);

/// Its step count. Throws Error.
std::int64_t read_step(const std::string& dir);

/// Throws Error when `dir` is no checkpoint.
State read_state(const std::string& dir);

/// Fills the optimiser's moments, and the parameters from the fp32 masters. Throws Error.
void read_optimiser(const std::string& dir, AdamW& optimiser);

/// Writes the checkpoint to `out`; `source` is the model directory the weights came from (it may be `out`).
/// All ranks call it; the first one writes, and the others return when the checkpoint is there. Its form does
/// not depend on their number. `keep` checkpoints are kept in all, older ones beside it (retention.hpp).
/// Throws Error.
void write_checkpoint(const std::string& out, const std::string& source, const Policy& policy,
                      const AdamW& optimiser, const State& state, const Ranks& ranks, std::int64_t keep = 1);

/// Writes the weights and the step count alone, for a sampler.
void write_weights(const std::string& out, const std::string& source, const Policy& policy,
                   const State& state);

/// Can a checkpoint be written to `out`? Throws Error when not. Finishes what a writer that was killed left.
void check_writable(const std::string& out, std::int64_t keep = 1);

}  // namespace leap::training
