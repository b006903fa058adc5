#include "sampling/prompts.hpp"

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "records/code.hpp"
#include "records/records.hpp"
#include "tokenizer/chat_template.hpp"
#include "tokenizer/tokenizer.hpp"

namespace leap::sampling {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kNoId = -1;

Ids ids_of(const Json& object, const char* name, const std::string& where) {
  const Json* value = records::find(object, name);
  if (value == nullptr || value->is_null()) return {};
  try {
    return jsonl::integers(*value);
  } catch (const RecordError& e) {
    throw RecordError(where + name + ": " + e.what());
  }
}

Json message(const char* role, std::string content) {
  return Json{{"role", role}, {"content", std::move(content)}};
}

/// `conversation` and one exchange more: what the policy said, what it is told.
void append_exchange(Json& conversation, const std::string& said, const std::string& told) {
  if (conversation.is_string()) {
    conversation.get_ref<std::string&>() += said + "\n\n" + told + "\n\n";
  } else {
    conversation.push_back(message("assistant", said));
    conversation.push_back(message("user", told));
  }
}

std::string fenced(const std::string& code, std::string_view language) {
  const char* fence = code.find("```") == std::string::npos ? "```" : "````";
  return std::string(fence).append(language).append("\n").append(strip(code)).append("\n").append(fence);
}

std::string code_of(const Json& turn, const Json& record) {
  const Json* task = records::find(record, "task");
  return records::code_of(turn, task == nullptr ? Json::object() : *task);
}

std::string count_text(const Json& verdict, const char* name) {
  const Json* value = records::find(verdict, name);
  return value != nullptr && value->is_number() ? jsonl::dump(*value) : "";
}

}  // namespace

const char* const kDefaultFeedback =
    "The solution was run. Result: {status}\n{feedback}\n\n"
    "Find out what is wrong, then give the whole corrected solution in one fenced code block.";

std::string fill(const std::string& form, const Placeholders& values) {
  std::string out;
  for (std::size_t i = 0; i < form.size();) {
    bool filled = false;
    for (const auto& [name, value] : values) {
      if (form.compare(i, name.size(), name) != 0) continue;
      out += value;
      i += name.size();
      filled = true;
      break;
    }
    if (!filled) out.push_back(form[i++]);
  }
  return std::string(strip(out));
}

std::string render_feedback(const std::string& form, const Json& turn, std::size_t number,
                            const std::string& code) {
  const Json* found = records::find(turn, "verdict");
  const Json verdict = found == nullptr ? Json::object() : *found;
  return fill(form, {{"{status}", std::string(records::text_of(verdict, "status"))},
                     {"{feedback}", std::string(strip(records::text_of(verdict, "feedback")))},
                     {"{code}", code},
                     {"{passed}", count_text(verdict, "passed")},
                     {"{total}", count_text(verdict, "total")},
                     {"{turn}", std::to_string(number)}});
}

struct Prompts::Models {
  tokenizer::Tokenizer tokenizer;
  std::optional<tokenizer::ChatTemplate> chat;  ///< absent where the directory has no template

  const tokenizer::ChatTemplate& chat_template(const std::string& dir) const {
    if (!chat) throw RecordError("prompt: messages need a chat template, and " + dir + " has none");
    return *chat;
  }
};

/// What the policy said, and what it is told about that.
struct Prompts::Exchange {
  std::string said, told;
};

Prompts::Prompts(PromptOptions options) : options_(std::move(options)) {
  const std::string& dir = options_.tokenizer;
  if (dir.empty()) return;
  models_ = std::make_unique<Models>(Models{tokenizer::Tokenizer::load(dir), std::nullopt});
  if (tokenizer::ChatTemplate::exists(dir)) models_->chat = tokenizer::ChatTemplate::load(dir);
}

Prompts::~Prompts() = default;

Json Prompts::problem_of(const Json& record) {
  const Json* prompt = records::find(record, "prompt");
  if (prompt == nullptr || prompt->is_null() || prompt->is_string())
    return prompt == nullptr ? Json() : *prompt;
  if (!prompt->is_array() || prompt->empty())
    throw RecordError("prompt: must be a string or a list of messages");
  for (std::size_t i = 0; i < prompt->size(); ++i) {
    const Json& message = (*prompt)[i];
    const Json* role = records::find(message, "role");
    if (role == nullptr || !role->is_string() || !message.contains("content"))
      throw RecordError("prompt[" + std::to_string(i) + "]: a message is an object with role and content");
  }
  return *prompt;
}

Prompt Prompts::of(Json conversation) const {
  if (conversation.is_null()) throw RecordError("prompt: missing");
  Prompt prompt;
  if (models_ == nullptr) {
    prompt.text = std::move(conversation);
    return prompt;
  }
  const auto& tokenizer = models_->tokenizer;
  if (conversation.is_string()) {
    prompt.ids = tokenizer.encode(conversation.get_ref<const std::string&>());
  } else {
    prompt.ids =
        tokenizer::encode_chat(tokenizer, models_->chat_template(options_.tokenizer), conversation).ids;
  }
  if (prompt.ids.empty()) throw RecordError("prompt: is empty");
  return prompt;
}

Prompt Prompts::first(const Json& record) const {
  Prompt prompt;
  prompt.ids = ids_of(record, "prompt_ids", "");
  return prompt.ids.empty() ? of(problem_of(record)) : prompt;
}

/// The ids between a completion that ended with `last_id`, kNoId for none that counts, and the next one.
Ids Prompts::inserted(const Json& record, const std::string& feedback, std::int64_t last_id) const {
  const auto& tokenizer = models_->tokenizer;
  Json messages = problem_of(record);
  if (!messages.is_array()) return tokenizer.encode("\n\n" + feedback + "\n\n", false, false);

  std::string marker = "LEAPANSWER";
  while (feedback.find(marker) != std::string::npos) marker += "X";
  append_exchange(messages, marker, feedback);
  const auto rendered = models_->chat_template(options_.tokenizer).render(messages);
  const auto at = rendered.text.rfind(marker);
  if (at == std::string::npos)
    throw RecordError(
        "prompt: the chat template leaves out the assistant's message; no later turn can be made");
  const std::size_t start = at + marker.size();
  std::vector<tokenizer::Span> content;
  for (const auto& span : rendered.content) {
    if (span.end > start) content.push_back({std::max(span.begin, start) - start, span.end - start});
  }
  Ids ids = tokenizer.encode_with_content(std::string_view(rendered.text).substr(start), content);

  // The end-of-turn id, where the completion has it already.
  for (std::size_t i = 0; i < ids.size() && tokenizer.is_special(last_id); ++i) {
    if (ids[i] == last_id) {
      ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      break;
    }
    if (!strip(tokenizer.token_bytes(ids[i])).empty()) break;
  }
  return ids;
}

/// The prompt after `exchanges`, none of whose ids are kept.
Prompt Prompts::anew(const Json& record, const std::vector<Exchange>& exchanges) const {
  Prompt prompt;
  if (models_ != nullptr) prompt.ids = ids_of(record, "prompt_ids", "");
  if (prompt.ids.empty()) {
    Json conversation = problem_of(record);
    if (conversation.is_null()) throw RecordError("prompt: missing");
    for (const auto& [said, told] : exchanges) append_exchange(conversation, said, told);
    return of(std::move(conversation));
  }
  for (const auto& [said, told] : exchanges) {
    for (const Ids& more : {models_->tokenizer.encode(said, false, false), inserted(record, told, kNoId)}) {
      prompt.ids.insert(prompt.ids.end(), more.begin(), more.end());
    }
  }
  return prompt;
}

Prompt Prompts::later(const Json& record, const Json& rollout) const {
  const Json& turns = *records::find(rollout, "turns");
  const Json& last = turns.back();
  const std::string code = code_of(last, record);
  const std::string feedback = render_feedback(options_.feedback, last, turns.size(), code);

  if (options_.last_only) {
    const Json* task = records::find(record, "task");
    const auto language = task == nullptr ? std::string_view() : records::text_of(*task, "language");
    std::string said = code;
    if (strip(code).empty()) {
      said = records::text_of(last, "completion");
    } else if (problem_of(record).is_array()) {
      said = fenced(code, language);
    }
    return anew(record, {{said, feedback}});
  }

  const std::string where = "turns[" + std::to_string(turns.size() - 1) + "].";
  if (models_ != nullptr) {
    Prompt prompt;
    prompt.ids = ids_of(last, "prompt_ids", where);
    const Ids completion = ids_of(last, "completion_ids", where);
    if (!prompt.ids.empty() && !completion.empty()) {
      prompt.ids.insert(prompt.ids.end(), completion.begin(), completion.end());
      const Ids more = inserted(record, feedback, completion.back());
      prompt.ids.insert(prompt.ids.end(), more.begin(), more.end());
      return prompt;
    }
  }
  std::vector<Exchange> exchanges;
  for (std::size_t t = 0; t < turns.size(); ++t) {
    exchanges.push_back({std::string(records::text_of(turns[t], "completion")),
                         t + 1 == turns.size() ? feedback
                                               : render_feedback(options_.feedback, turns[t], t + 1,
                                                                 code_of(turns[t], record))});
  }
  return anew(record, exchanges);
}

}  // namespace leap::sampling
