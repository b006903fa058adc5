/// A training run: records in, optimiser steps, metrics and a checkpoint out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jsonl/json.hpp"
#include "training/actions.hpp"
#include "training/trainer.hpp"

namespace leap::training {

struct UpdateOptions {
  std::vector<std::string> files;  ///< none: stdin
  std::string model;               ///< where a new run's weights come from
  std::string out;                 ///< the checkpoint to write
  std::string resume;              ///< go on from this checkpoint over the same input, if it is there already
  std::string continued;           ///< weights, moments and step count from this checkpoint, for new input
  std::string ref_model;           ///< reference of the KL term; default `model`
  std::string loss = "dr_grpo";
  std::string old_logprobs = "record";
  std::string train = "turns";
  std::string turn_weight = "turn";
  std::string schedule = "constant";
  std::string device = "auto";
  double temperature = 1.0;
  bool mask_truncated = false;
  std::int64_t records_per_step = 0;  ///< 0: the whole input
  std::int64_t num_iterations = 1;    ///< steps on each batch
  std::int64_t max_steps = 0;         ///< of this run, resumed parts included; 0: no limit
  std::int64_t save_steps =
      20;  ///< a checkpoint every so many steps, besides the one at the end; 0: only that
  std::int64_t seed = 0;
  bool keep_going = false;
  TrainerOptions trainer;
};

/// What a run tells its caller as it goes.
struct UpdateHooks {
  std::function<void(const Json& metrics)> metrics;
  std::function<void(const std::string& line, const std::string& message)> bad_record;  ///< with keep_going
  std::function<void(std::uint64_t lines, std::uint64_t done_bytes, std::uint64_t total_bytes,
                     const std::string& note)>
      progress;
};

struct UpdateReport {
  std::uint64_t records = 0;  ///< lines read
  std::int64_t steps = 0;     ///< done by this process
  std::int64_t step = 0;      ///< the checkpoint's step count
};

/// Trains on the whole input, or until max_steps or a signal; then writes the checkpoint. Throws Error;
/// finished steps are saved before.
UpdateReport run_update(const UpdateOptions& options, const UpdateHooks& hooks);

}  // namespace leap::training
