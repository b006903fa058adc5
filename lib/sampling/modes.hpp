/// leap-sample's modes that draw nothing: log-probs of ids that are there, and text <-> ids.
#pragma once

#include <optional>
#include <string>

#include "jsonl/json.hpp"
#include "sampling/backend.hpp"
#include "tokenizer/chat_template.hpp"
#include "tokenizer/tokenizer.hpp"

namespace leap::sampling {

struct ScoreOptions {
  bool reference = false;    ///< write ref_logprobs, each action at its own temperature
  double temperature = 1.0;  ///< of logprobs; of ref_logprobs where a record has none
};

/// Is there a turn (of a rollout, of `solutions`), decomposition or implementation with ids whose log-probs
/// under that name are missing or of another length?
bool wants_scores(const Json& record, const ScoreOptions& options);
/// Has the record anything to score at all?
bool has_ids(const Json& record);
/// Writes the log-probs of all of them, replacing old ones in place. RecordError when an id list is unusable.
void score(Json& record, const ScoreOptions& options, Backend& backend);

/// `--tokenize`: "text" gets "ids"; "messages" gets "prompt" and "ids"; "ids" gets "text". Thread-safe.
class TokenizeMode {
 public:
  explicit TokenizeMode(const std::string& dir);
  void process(Json& line) const;
  static bool complete(const Json& line);

 private:
  tokenizer::Tokenizer tokenizer_;
  std::string dir_;
  std::optional<tokenizer::ChatTemplate> chat_;
};

}  // namespace leap::sampling
