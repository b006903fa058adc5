/// What a record still wants sampled, and where the results go.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jsonl/json.hpp"
#include "sampling/backend.hpp"
#include "sampling/prompts.hpp"

namespace leap::sampling {

struct Plan {
  std::vector<Request> requests;  ///< without tags; none when there is nothing to do
  /// Puts the results, one a key of each request, into the record.
  std::function<void(Json& record, std::vector<std::vector<Json>> results)> attach;
};

/// Are there turns left to sample: no rollouts yet, or open ones without turns or with a verdict on the last?
/// RecordError when the rollouts have not the shape that leap-records(5) gives.
bool wants_turns(const Json& record);

/// First turns of `rollouts` new rollouts where the record has none; else the next turn of each open one.
/// RecordError when the record cannot be sampled (no id, no usable prompt).
Plan plan_turns(const Json& record, std::uint64_t rollouts, std::uint64_t seed, const Prompts& prompts);

}  // namespace leap::sampling
