/// A training run: records in, optimiser steps, metrics and a checkpoint out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "jsonl/json.hpp"
#include "training/options.hpp"

namespace leap::training {

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
/// finished steps are saved before. With several processes the first one reads, reports and writes.
UpdateReport run_update(const UpdateOptions& options, const UpdateHooks& hooks);

}  // namespace leap::training
