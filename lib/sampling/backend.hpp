/// What draws completions: a model in this process or a server. The rest of the room does not know which.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jsonl/json.hpp"

namespace leap::sampling {

struct SamplingOptions {
  double temperature = 1.0;  ///< 0 is greedy: the largest logit, the lower id on an exact tie
  double top_p = 1.0;        ///< 1 is neutral
  int top_k = 0;             ///< 0 is neutral
  int max_tokens = 512;      ///< most new tokens a completion
  std::uint64_t seed = 0;
  std::vector<std::string> stop;  ///< a completion ends before the first of these texts
};

/// One prompt and the completions wanted of it. Its prompt is computed once, however many completions it
/// wants.
struct Request {
  std::uint64_t tag = 0;  ///< the caller's; comes back with each completion
  std::vector<std::int64_t>
      prompt_ids;  ///< the exact prompt; empty only where no tokenizer is known (servers)
  Json prompt;     ///< the same as text (string) or messages (array), for servers without ids
  std::vector<std::uint64_t> keys;  ///< one draw key (base/random.hpp) a completion wanted
};

struct Completion {
  std::uint64_t tag = 0;
  std::size_t index = 0;                 ///< which of the request's keys
  std::string text;                      ///< without the end id's text; ends before the stop text
  std::vector<std::int64_t> prompt_ids;  ///< empty where the server does not say
  std::vector<std::int64_t>
      ids;                       ///< completion ids, the end id included; empty where the server does not say
  std::vector<double> logprobs;  ///< one an id, or empty
  std::string finish_reason;     ///< "stop" or "length"
  std::string error;             ///< not empty: this completion could not be had; says why
};

enum class Next { kRequest, kLater, kEnd };

/// Fills in the next request. kLater: none now, because finished work has to be handed over first; ask again
/// after the next completion. kEnd: no more.
using NextRequest = std::function<Next(Request&)>;
using Done = std::function<void(Completion)>;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// Serves requests until `next` says kEnd and all are done. `next` and `done` are called by one thread at a
  /// time. Throws Error when the model or server is gone for good; what was done before has been handed over.
  virtual void run(const SamplingOptions& options, const NextRequest& next, const Done& done) = 0;

  /// Teacher-forced log-probs of `completion_ids` after `prompt_ids`, at `temperature` (0 counts as 1).
  /// Backends that cannot throw Error.
  virtual std::vector<double> score(const std::vector<std::int64_t>& prompt_ids,
                                    const std::vector<std::int64_t>& completion_ids, double temperature) = 0;

  virtual std::string model_name() const = 0;
  virtual std::int64_t weight_version() const = 0;  ///< leap_state.json's steps; 0 when unknown
  virtual std::string logprobs_mode() const = 0;  ///< "scaled", "raw" or "processed"; "" when there are none
};

}  // namespace leap::sampling
