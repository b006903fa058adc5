/// What a record gives to train on: its actions, each a prompt, the completion the policy wrote, and their
/// numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jsonl/json.hpp"
#include "training/options.hpp"

namespace leap::training {

struct Action {
  std::vector<std::int64_t> prompt;      ///< at least one id; no loss
  std::vector<std::int64_t> completion;  ///< at least one id
  std::vector<double>
      logprobs;  ///< the sampler's at `temperature`, one a completion id; empty: none that can serve
  std::vector<double> ref_logprobs;  ///< the reference model's; may be empty
  double advantage = 0;
  double temperature = 1;            ///< logits are divided by it; above 0
  double weight = 1;                 ///< multiplies its terms in the loss, not the denominators
  std::int64_t max_tokens = 0;       ///< recorded sampling.max_tokens; 0: none
  std::int64_t weight_version = -1;  ///< recorded sampling.weight_version; -1: none
  bool truncated = false;            ///< finish_reason is `length`
  bool masked = false;

  std::size_t size() const { return prompt.size() + completion.size(); }
};

/// Text to ids, for supervised examples that have no ids. Implementations may throw RecordError.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// The ids of the record's first prompt.
  virtual std::vector<std::int64_t> prompt(const Json& record) = 0;
  /// The ids of a completion, the model's first end id last.
  virtual std::vector<std::int64_t> completion(const std::string& text) = 0;
};

/// The actions of `record` in its order. Throws RecordError naming the field. `encoder` may be null where no
/// text needs ids.
std::vector<Action> actions_of(const Json& record, const ActionOptions& options,
                               TextEncoder* encoder = nullptr);

}  // namespace leap::training
