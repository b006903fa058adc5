#include "sampling/server_backend.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "records/records.hpp"
#include "tokenizer/tokenizer.hpp"

namespace leap::sampling {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr const char* kExtended[] = {"top_k", "min_p", "repetition_penalty", "return_token_ids",
                                     "return_tokens"};

/// The first end id of the checkpoint in `dir`, if it says one.
std::optional<std::int64_t> end_id_of(const std::filesystem::path& dir) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (!std::filesystem::exists(dir / name)) continue;
    const std::string text = read_file(dir / name);
    Json config;
    try {
      config = jsonl::parse_record(text);
    } catch (const RecordError& e) {
      throw Error((dir / name).string() + ": " + e.what());
    }
    const Json* end = records::find(config, "eos_token_id");
    if (end != nullptr && end->is_array() && !end->empty()) end = &end->front();
    if (end != nullptr && end->is_number_integer()) return end->get<std::int64_t>();
  }
  return std::nullopt;
}

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

}  // namespace

Json server_request(const ServerOptions& server, const SamplingOptions& options, const Request& request,
                    std::uint64_t key, const Dialect& dialect) {
  const bool chat = request.prompt_ids.empty() && request.prompt.is_array();
  Json body = {{"model", server.model}};
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
  body["seed"] = static_cast<std::int64_t>(key >> 33);  // 31 bits: what every server takes
  if (!options.stop.empty()) body["stop"] = options.stop;
  if (server.logprobs && chat) {
    body["logprobs"] = true;
    body["top_logprobs"] = 1;
  } else if (server.logprobs) {
    body["logprobs"] = 1;
  }
  // -1 is neutral to vLLM, SGLang and llama.cpp alike.
  if (dialect.extended || options.top_k > 0) body["top_k"] = options.top_k > 0 ? options.top_k : -1;
  if (dialect.extended) {
    body["min_p"] = 0;
    body["repetition_penalty"] = 1;
    body["return_token_ids"] = true;
    body["return_tokens"] = true;
  }
  return body;
}

Completion read_answer(const Json& answer, const SamplingOptions& options, const Ids& prompt_ids,
                       std::vector<std::string>& tokens) {
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
  if (ids != nullptr) completion.ids = jsonl::integers(*ids);
  const Json* prompt = first_array(choice, {"prompt_token_ids"});
  if (prompt == nullptr) prompt = first_array(answer, {"prompt_token_ids"});
  if (prompt != nullptr) completion.prompt_ids = jsonl::integers(*prompt);

  if (!completion.ids.empty() && !completion.logprobs.empty() &&
      completion.ids.size() != completion.logprobs.size()) {
    throw RecordError(std::to_string(completion.ids.size()) + " ids but " +
                      std::to_string(completion.logprobs.size()) + " log-probs");
  }
  if (ids != nullptr && completion.ids.empty() && !completion.text.empty())
    throw RecordError("text without ids");
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

struct ServerBackend::Local {
  std::optional<tokenizer::Tokenizer> tokenizer;
  std::optional<std::int64_t> end_id;
  std::mutex mutex;
  Dialect dialect;
};

ServerBackend::ServerBackend(ServerOptions options)
    : options_(std::move(options)), servers_(options_.servers), local_(std::make_unique<Local>()) {
  if (options_.tokenizer.empty()) return;
  local_->tokenizer = tokenizer::Tokenizer::load(options_.tokenizer);
  local_->end_id = end_id_of(options_.tokenizer);
}

ServerBackend::~ServerBackend() = default;

std::vector<double> ServerBackend::score(const Ids&, const Ids&, double) {
  throw Error("--score needs a local model: give --model DIR without --url");
}

Completion ServerBackend::complete(http::Session& session, const SamplingOptions& options,
                                   const Request& request, std::uint64_t key) {
  const bool chat = request.prompt_ids.empty() && request.prompt.is_array();
  Completion completion;
  std::vector<std::string> tokens;
  const auto check = [&](const Json& answer) -> std::string {
    try {
      tokens.clear();
      completion = read_answer(answer, options, request.prompt_ids, tokens);
      return "";
    } catch (const RecordError& e) {
      return e.what();
    }
  };
  for (bool answered = false; !answered;) {
    Dialect dialect;
    {
      const std::lock_guard lock(local_->mutex);
      dialect = local_->dialect;
    }
    try {
      servers_.post(session, chat ? "/chat/completions" : "/completions",
                    server_request(options_, options, request, key, dialect), check);
      answered = true;
    } catch (const http::Refused& e) {
      const std::string_view what = e.what();
      const auto mentions = [&](const char* name) { return what.find(name) != std::string_view::npos; };
      Dialect simpler = dialect;
      if (std::any_of(std::begin(kExtended), std::end(kExtended), mentions)) simpler.extended = false;
      if (chat && mentions("max_completion_tokens")) simpler.max_completion_tokens = true;
      if (simpler.extended == dialect.extended &&
          simpler.max_completion_tokens == dialect.max_completion_tokens)
        throw;
      const std::lock_guard lock(local_->mutex);
      local_->dialect.extended = local_->dialect.extended && simpler.extended;
      local_->dialect.max_completion_tokens |= simpler.max_completion_tokens;
    }
  }

  if (completion.ids.empty() && local_->tokenizer) {
    completion.ids = local_->tokenizer->encode(completion.text, false, false);
    if (completion.finish_reason == "stop" && options.stop.empty() && local_->end_id)
      completion.ids.push_back(*local_->end_id);
    // The server's log-probs are kept where its tokens are ours.
    bool same = tokens.size() == completion.ids.size() && completion.logprobs.size() == tokens.size();
    for (std::size_t i = 0; same && i < tokens.size(); ++i)
      same = tokens[i] == local_->tokenizer->token_bytes(completion.ids[i]);
    if (!same) completion.logprobs.clear();
  }
  if (completion.ids.empty()) completion.logprobs.clear();
  return completion;
}

void ServerBackend::run(const SamplingOptions& options, const NextRequest& next, const Done& done) {
  struct Task {
    std::shared_ptr<const Request> request;
    std::size_t index;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  bool ended = false;
  std::exception_ptr failure;

  const auto fail = [&] {  // with the mutex held
    if (!failure) failure = std::current_exception();
    ended = true;
    tasks.clear();
    servers_.cancel();
    changed.notify_all();
  };
  const auto work = [&] {
    const auto session = servers_.session();
    std::unique_lock lock(mutex);
    while (true) {
      try {
        while (tasks.empty() && !ended) {
          Request request;
          switch (next(request)) {
            case Next::kRequest: {
              const auto shared = std::make_shared<const Request>(std::move(request));
              for (std::size_t i = 0; i < shared->keys.size(); ++i) tasks.push_back({shared, i});
              if (tasks.size() > 1) changed.notify_all();
              break;
            }
            case Next::kLater:  // also looks for new input now and then
              changed.wait_for(lock, std::chrono::milliseconds(50));
              break;
            case Next::kEnd:
              ended = true;
              changed.notify_all();
              break;
          }
        }
        if (tasks.empty()) return;
        const Task task = std::move(tasks.front());
        tasks.pop_front();
        lock.unlock();
        Completion completion;
        std::exception_ptr problem;
        try {
          completion = complete(*session, options, *task.request, task.request->keys[task.index]);
        } catch (const RecordError& e) {
          completion = {};
          completion.error = e.what();
        } catch (const http::Interrupted& e) {
          completion = {};
          completion.error = e.what();
        } catch (...) {
          problem = std::current_exception();
        }
        lock.lock();
        if (failure) return;
        if (problem) std::rethrow_exception(problem);
        completion.tag = task.request->tag;
        completion.index = task.index;
        done(std::move(completion));
        changed.notify_all();
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        fail();
        return;
      }
    }
  };

  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < options_.concurrency; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    if (threads.empty()) throw;  // fewer will do
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace leap::sampling
