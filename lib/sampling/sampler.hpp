/// Records in, records with turns out: reads ahead as the backend wants work, writes each line as soon as its
/// completions are there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cli/stream.hpp"
#include "jsonl/json.hpp"
#include "sampling/backend.hpp"
#include "sampling/prompts.hpp"
#include "sampling/stages.hpp"

namespace leap::sampling {

struct SamplerOptions {
  std::uint64_t rollouts =
      1;  ///< new ones where a record has none; so many decompositions or implementations
  StageOptions stage;
  SamplingOptions sampling;
  PromptOptions prompts;
  bool deterministic = false;  ///< one line in work at a time: what is batched together is the line's alone
};

struct SampleTotals {
  std::uint64_t records = 0;
  std::uint64_t turns = 0;
  std::uint64_t stopped = 0;  ///< turns with finish_reason "stop"
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t groups = 0;     ///< of two or more new rollouts
  std::uint64_t identical = 0;  ///< of them, those whose completions are all the same
  double seconds = 0;           ///< from the first request to the last completion

  Json json() const;
};

/// Samples what the records want (plan.hpp, stages.hpp). `make_backend` is called at the first record that
/// wants anything. At most `stream.jobs` lines are in work or wait for an earlier one (0: kWindow).
SampleTotals sample(cli::Tool& tool, const cli::StreamOptions& stream, const SamplerOptions& options,
                    const std::function<std::unique_ptr<Backend>()>& make_backend);

inline constexpr int kWindow = 256;

}  // namespace leap::sampling
