#include "sampling/server_protocol.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "records/records.hpp"

namespace leap::sampling {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr const char* kExtended[] = {
    "top_k", "min_p", "repetition_penalty", "return_token_ids", "return_tokens", "sampling_seed"};

std::string finish_of(std::string_view reason) {
  for (const char* stop : {"stop", "eos", "eos_token", "stop_sequence", "tool_calls", "function_call"}) {
    if (reason == stop) return "stop";
  }
  if (reason == "length" || reason == "max_tokens") return "length";
  return "";
}

/// The first of the members that is an array.
const Json* first_array(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Json* value = records::find(object, name);
    if (value != nullptr && jsonl::is_array(*value)) return value;
  }
  return nullptr;
}

/// Log-probs, and what else stands beside them: OpenAI's two shapes.
struct Scored {
  std::vector<double> logprobs;
  std::vector<std::string> tokens;
  Ids ids;
};

Scored read_logprobs(const Json& logprobs) {
  Scored scored;
  const auto add = [&](const Json* value) {
    if (value == nullptr || !value->is_number()) throw RecordError("a log-prob is no number");
    scored.logprobs.push_back(value->get<double>());
  };
  // An id may stand in place of the text: "token_id:42".
  const auto add_token = [&](std::string_view token) {
    constexpr std::string_view kPrefix = "token_id:";
    std::int64_t id = 0;
    if (token.substr(0, kPrefix.size()) == kPrefix) {
      const char* const end = token.data() + token.size();
      const auto [at, code] = std::from_chars(token.data() + kPrefix.size(), end, id);
      if (code == std::errc{} && at == end) scored.ids.push_back(id);
    }
    scored.tokens.emplace_back(token);
  };
  if (const Json* content = records::find(logprobs, "content"); content != nullptr && content->is_array()) {
    for (const Json& item : *content) {
      add(records::find(item, "logprob"));
      const Json* id = records::find(item, "id");
      if (id != nullptr && id->is_number_integer()) {
        scored.ids.push_back(id->get<std::int64_t>());
        scored.tokens.emplace_back(records::text_of(item, "token"));
      } else {
        add_token(records::text_of(item, "token"));
      }
    }
  } else if (const Json* values = records::find(logprobs, "token_logprobs");
             values != nullptr && values->is_array()) {
    for (const Json& value : *values) add(&value);
    const Json* tokens = records::find(logprobs, "tokens");
    if (tokens != nullptr && tokens->is_array()) {
      for (const Json& token : *tokens) add_token(token.is_string() ? token.get<std::string>() : "");
    }
  }
  if (scored.ids.size() != scored.logprobs.size()) scored.ids.clear();
  return scored;
}

std::int64_t seed_of(std::uint64_t key) {
  return static_cast<std::int64_t>(key >> 33);  // 31 bits: what every server takes
}

Json openai_body(const std::string& model, bool logprobs, const SamplingOptions& options,
                 const Request& request, std::uint64_t key, const Dialect& dialect, bool chat) {
  Json body = {{"model", model}};
  if (chat) {
    body["messages"] = request.prompt;
  } else {
    body["prompt"] = request.prompt_ids.empty() ? request.prompt : jsonl::raw_ids(request.prompt_ids);
  }
  body["n"] = 1;
  body["stream"] = false;
  body[chat && dialect.max_completion_tokens ? "max_completion_tokens" : "max_tokens"] = options.max_tokens;
  body["temperature"] = options.temperature;
  body["top_p"] = options.top_p;
  body["presence_penalty"] = 0;
  body["frequency_penalty"] = 0;
  body["seed"] = seed_of(key);
  if (!options.stop.empty()) body["stop"] = options.stop;
  if (logprobs && chat) {
    body["logprobs"] = true;
    body["top_logprobs"] = 1;
  } else if (logprobs) {
    body["logprobs"] = 1;
  }
  if (dialect.extended || options.top_k > 0)
    body["top_k"] = options.top_k > 0 ? options.top_k : dialect.neutral_top_k;
  if (dialect.extended) {
    body["min_p"] = 0;
    body["repetition_penalty"] = 1;
    body["repeat_penalty"] = 1;
    body["return_token_ids"] = true;
    body["return_tokens"] = true;
  }
  return body;
}

Json sglang_body(bool logprobs, const SamplingOptions& options, const Request& request, std::uint64_t key,
                 const Dialect& dialect) {
  Json body;
  if (request.prompt_ids.empty()) {
    body["text"] = request.prompt;
  } else {
    body["input_ids"] = jsonl::raw_ids(request.prompt_ids);
  }
  Json& sampling = body["sampling_params"];
  sampling = {{"max_new_tokens", options.max_tokens},
              {"temperature", options.temperature},
              {"top_p", options.top_p},
              {"top_k", options.top_k > 0 ? options.top_k : -1},
              {"min_p", 0},
              {"presence_penalty", 0},
              {"frequency_penalty", 0},
              {"repetition_penalty", 1},
              {"skip_special_tokens", true},
              {"spaces_between_special_tokens", false}};
  if (!options.stop.empty()) sampling["stop"] = options.stop;
  if (dialect.extended) sampling["sampling_seed"] = seed_of(key);
  body["return_logprob"] = logprobs;
  body["stream"] = false;
  return body;
}

Json llama_body(bool logprobs, const SamplingOptions& options, const Request& request, std::uint64_t key) {
  Json body;
  body["prompt"] = request.prompt_ids.empty() ? request.prompt : jsonl::raw_ids(request.prompt_ids);
  body["n_predict"] = options.max_tokens;
  body["temperature"] = options.temperature;
  body["top_p"] = options.top_p;
  body["top_k"] = options.top_k;
  body["min_p"] = 0;
  body["typical_p"] = 1;
  body["repeat_penalty"] = 1;
  body["presence_penalty"] = 0;
  body["frequency_penalty"] = 0;
  body["samplers"] = Json::array({"temperature", "top_k", "top_p"});  // its own order cuts before it scales
  body["seed"] = seed_of(key);
  if (!options.stop.empty()) body["stop"] = options.stop;
  if (logprobs) body["n_probs"] = 1;
  body["return_tokens"] = true;
  body["cache_prompt"] = true;
  body["stream"] = false;
  return body;
}

void read_ids(const Json& ids, Completion& completion) {
  completion.ids = jsonl::integers(ids);
  if (completion.ids.empty() && !completion.text.empty()) throw RecordError("text without ids");
}

Completion read_openai(const Json& answer, std::vector<std::string>& tokens) {
  const Json* choices = records::find(answer, "choices");
  if (choices == nullptr || !choices->is_array() || choices->empty() || !choices->front().is_object())
    throw RecordError("choices: missing");
  const Json& choice = choices->front();
  Completion completion;

  const Json* message = records::find(choice, "message");
  const Json* text =
      records::find(message == nullptr ? choice : *message, message == nullptr ? "text" : "content");
  if (text != nullptr && text->is_string()) {
    completion.text = text->get<std::string>();
  } else if (message == nullptr || (text != nullptr && !text->is_null())) {
    throw RecordError("choices[0]: no text");
  }
  completion.finish_reason = finish_of(records::text_of(choice, "finish_reason"));
  if (completion.finish_reason.empty())
    throw RecordError("choices[0].finish_reason: neither stop nor length");

  if (const Json* logprobs = records::find(choice, "logprobs"); logprobs != nullptr) {
    Scored scored = read_logprobs(*logprobs);
    completion.logprobs = std::move(scored.logprobs);
    completion.ids = std::move(scored.ids);
    tokens = std::move(scored.tokens);
  }
  const Json* ids = first_array(choice, {"token_ids", "tokens"});
  if (ids == nullptr) ids = first_array(answer, {"token_ids", "tokens"});
  if (ids != nullptr) read_ids(*ids, completion);
  const Json* prompt = first_array(choice, {"prompt_token_ids"});
  if (prompt == nullptr) prompt = first_array(answer, {"prompt_token_ids"});
  if (prompt != nullptr) completion.prompt_ids = jsonl::integers(*prompt);

  return completion;
}

Completion read_sglang(const Json& answer) {
  const Json* meta = records::find(answer, "meta_info");
  if (meta == nullptr || !meta->is_object()) throw RecordError("meta_info: missing");
  Completion completion;
  completion.text = records::text_of(answer, "text");
  const Json* reason = records::find(*meta, "finish_reason");
  if (reason != nullptr)
    completion.finish_reason = finish_of(reason->is_object() ? records::text_of(*reason, "type")
                                                             : records::text_of(*meta, "finish_reason"));
  if (completion.finish_reason.empty()) throw RecordError("meta_info.finish_reason: neither stop nor length");
  if (const Json* drawn = records::find(*meta, "output_token_logprobs"); drawn != nullptr) {
    for (const Json& item : *drawn) {  // [log-prob, id, text or null]
      if (!item.is_array() || item.size() < 2 || !item[0].is_number() || !item[1].is_number_integer())
        throw RecordError("meta_info.output_token_logprobs: an item is not [log-prob, id, ..]");
      completion.logprobs.push_back(item[0].get<double>());
      completion.ids.push_back(item[1].get<std::int64_t>());
    }
  } else if (const Json* ids = first_array(answer, {"output_ids"})) {
    read_ids(*ids, completion);
  }
  return completion;
}

Completion read_llama(const Json& answer, std::vector<std::string>& tokens) {
  const Json* text = records::find(answer, "content");
  if (text == nullptr || !text->is_string()) throw RecordError("content: missing");
  Completion completion;
  completion.text = text->get<std::string>();
  const std::string_view end = records::text_of(answer, "stop_type");
  if (end == "limit") {
    completion.finish_reason = "length";
  } else if (end == "eos" || end == "word") {
    completion.finish_reason = "stop";
  } else {
    throw RecordError("stop_type: neither eos, word nor limit");
  }
  if (const Json* drawn = records::find(answer, "completion_probabilities"); drawn != nullptr) {
    Scored scored = read_logprobs(Json{{"content", *drawn}});
    completion.logprobs = std::move(scored.logprobs);
    completion.ids = std::move(scored.ids);
    tokens = std::move(scored.tokens);
  }
  if (const Json* ids = first_array(answer, {"tokens"}); ids != nullptr) read_ids(*ids, completion);
  return completion;
}

}  // namespace

Call server_call(const std::string& model, bool logprobs, const SamplingOptions& options,
                 const Request& request, std::uint64_t key, const Dialect& dialect) {
  const bool chat = request.prompt_ids.empty() && request.prompt.is_array();
  if (!chat && dialect.api == Api::kSglang)
    return {Api::kSglang, false, http::At::kRoot, "/generate",
            sglang_body(logprobs, options, request, key, dialect)};
  if (!chat && dialect.api == Api::kLlama)
    return {Api::kLlama, false, http::At::kRoot, "/completion", llama_body(logprobs, options, request, key)};
  return {Api::kOpenAi, chat, http::At::kBase, chat ? "/chat/completions" : "/completions",
          openai_body(model, logprobs, options, request, key, dialect, chat)};
}

bool names_a_field(std::string_view message) {
  return std::any_of(std::begin(kExtended), std::end(kExtended),
                     [&](const char* name) { return message.find(name) != std::string_view::npos; });
}

bool adapt(Dialect& dialect, const Call& call, std::string_view why) {
  const auto mentions = [&](const char* name) { return why.find(name) != std::string_view::npos; };
  if (call.chat && !dialect.max_completion_tokens && mentions("max_completion_tokens"))
    return dialect.max_completion_tokens = true;
  if (!dialect.extended || !names_a_field(why)) return false;
  if (mentions("top_k") && dialect.neutral_top_k != 0) {
    dialect.neutral_top_k = 0;
  } else {
    dialect.extended = false;
  }
  return true;
}

Completion read_answer(Api api, const Json& answer, const SamplingOptions& options, const Ids& prompt_ids,
                       std::vector<std::string>& tokens) {
  Completion completion = api == Api::kSglang  ? read_sglang(answer)
                          : api == Api::kLlama ? read_llama(answer, tokens)
                                               : read_openai(answer, tokens);
  if (!completion.ids.empty() && !completion.logprobs.empty() &&
      completion.ids.size() != completion.logprobs.size()) {
    throw RecordError(std::to_string(completion.ids.size()) + " ids but " +
                      std::to_string(completion.logprobs.size()) + " log-probs");
  }
  if (std::max(completion.ids.size(), completion.logprobs.size()) >
      static_cast<std::size_t>(options.max_tokens))
    throw RecordError("more than max_tokens tokens");
  if (!std::all_of(completion.logprobs.begin(), completion.logprobs.end(),
                   [](double value) { return std::isfinite(value) && value <= 1e-3; }))
    throw RecordError("a log-prob is above 0");
  if (!prompt_ids.empty() && !completion.prompt_ids.empty() && completion.prompt_ids != prompt_ids)
    throw RecordError("prompt_token_ids: not the prompt that was sent");
  return completion;
}

std::string default_logprobs_mode(Api api) {
  return api == Api::kSglang ? "scaled" : "raw";
}

}  // namespace leap::sampling
