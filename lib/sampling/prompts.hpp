/// The prompts of turns: a problem's own for the first one; for later ones the conversation so far and the
/// verdict's feedback.
///
/// With a tokenizer a prompt is ids, and history is never tokenised again: a later prompt is the previous
/// turn's prompt_ids, its completion_ids, and the ids of only the text put in between.
/// - Messages: that text is the chat template's own. The problem's messages, an assistant's message with a
///   marker for content and a user's message with the feedback are rendered; what follows the marker is
///   taken. An end-of-turn id that the completion already ends with is not repeated; one that it lacks
///   (finish reason `length`, or a stop text) is put in.
/// - A string: a blank line, the feedback, a blank line.
/// A turn without ids (from a server that gave none) has no history to keep: its conversation is tokenised.
/// Wherever the conversation is made anew, it begins with the record's own prompt_ids if there are any.
/// Without a tokenizer a prompt is the text, or the messages, of the whole conversation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jsonl/json.hpp"

namespace leap::sampling {

/// What the user says after a failed turn. {status} {feedback} {code} {passed} {total} {turn} are filled in.
extern const char* const kDefaultFeedback;

struct PromptOptions {
  std::string tokenizer;   ///< directory with tokenizer.json and the chat template; "" for none
  bool last_only = false;  ///< --history last: only the problem, the last code and its feedback
  std::string feedback = kDefaultFeedback;
};

struct Prompt {
  std::vector<std::int64_t> ids;  ///< empty where there is no tokenizer and the record has none
  Json text;                      ///< string or messages; null where there are ids
};

using Placeholders = std::vector<std::pair<std::string, std::string>>;  ///< "{name}" and what it stands for

/// `form` with the placeholders filled in, stripped. What they stand for is not looked at again.
std::string fill(const std::string& form, const Placeholders& values);

/// `form` with the placeholders filled in from a turn with a verdict (`number` counts from 1), stripped.
std::string render_feedback(const std::string& form, const Json& turn, std::size_t number,
                            const std::string& code);

/// Thread-safe once made. The tokenizer is loaded by the constructor.
class Prompts {
 public:
  explicit Prompts(PromptOptions options);
  ~Prompts();

  /// The record's prompt as text or messages, null when it has none. RecordError when nobody could use it.
  static Json problem_of(const Json& record);
  /// The prompt that is this text or these messages.
  Prompt of(Json conversation) const;
  /// RecordError when the record has no usable prompt.
  Prompt first(const Json& record) const;
  /// The prompt after the last turn of `rollout`, which has a verdict.
  Prompt later(const Json& record, const Json& rollout) const;

 private:
  struct Models;
  struct Exchange;
  Prompt anew(const Json& record, const std::vector<Exchange>& exchanges) const;
  std::vector<std::int64_t> inserted(const Json& record, const std::string& feedback,
                                     std::int64_t last_id) const;

  PromptOptions options_;
  std::unique_ptr<Models> models_;
};

}  // namespace leap::sampling
