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

http::ServersOptions with_concurrency(const ServerOptions& options) {
  http::ServersOptions servers = options.servers;
  servers.concurrency = options.concurrency;
  servers.is_refusal = names_a_field;
  return servers;
}

}  // namespace

struct ServerBackend::Local {
  std::optional<tokenizer::Tokenizer> tokenizer;
  std::optional<std::int64_t> end_id;
  std::mutex mutex;
  Dialect dialect;
  bool known = false;  ///< the dialect's API
};

ServerBackend::ServerBackend(ServerOptions options)
    : options_(std::move(options)), servers_(with_concurrency(options_)), local_(std::make_unique<Local>()) {
  local_->known = options_.api != "auto";
  if (options_.api == "sglang") local_->dialect.api = Api::kSglang;
  if (options_.api == "llama") local_->dialect.api = Api::kLlama;
  if (options_.tokenizer.empty()) return;
  local_->tokenizer = tokenizer::Tokenizer::load(options_.tokenizer);
  local_->end_id = end_id_of(options_.tokenizer);
}

ServerBackend::~ServerBackend() = default;

std::vector<double> ServerBackend::score(const Ids&, const Ids&, double) {
  throw Error("--score needs a local model: give --model DIR without --url");
}

/// The dialect in use. The first call finds out which API the servers have.
Dialect ServerBackend::dialect(http::Session& session) {
  const std::lock_guard lock(local_->mutex);  // the first one asks, the others wait
  if (local_->known) return local_->dialect;
  const auto shows = [&](const char* path, const char* member) {
    const Json info = servers_.look(session, http::At::kRoot, path);
    return info.is_object() && info.contains(member);
  };
  if (shows("/get_model_info", "model_path")) {
    local_->dialect.api = Api::kSglang;
  } else if (shows("/props", "default_generation_settings")) {
    local_->dialect.api = Api::kLlama;
  }
  local_->known = true;
  return local_->dialect;
}

std::string ServerBackend::logprobs_mode() const {
  if (!options_.logprobs) return "";
  if (!options_.logprobs_mode.empty()) return options_.logprobs_mode;
  const std::lock_guard lock(local_->mutex);
  return default_logprobs_mode(local_->dialect.api);
}

Completion ServerBackend::complete(http::Session& session, const SamplingOptions& options,
                                   const Request& request, std::uint64_t key) {
  Completion completion;
  std::vector<std::string> tokens;
  for (bool answered = false; !answered;) {
    Dialect dialect = this->dialect(session);
    const Call call = server_call(options_.model, options_.logprobs, options, request, key, dialect);
    const auto check = [&](const Json& answer) -> std::string {
      try {
        tokens.clear();
        completion = read_answer(call.api, answer, options, request.prompt_ids, tokens);
        return "";
      } catch (const RecordError& e) {
        return e.what();
      }
    };
    try {
      servers_.post(session, call.at, call.path, call.body, check);
      answered = true;
    } catch (const http::Refused& e) {
      if (!adapt(dialect, call, e.what())) throw;
      const std::lock_guard lock(local_->mutex);
      local_->dialect.extended = local_->dialect.extended && dialect.extended;
      local_->dialect.neutral_top_k = std::max(local_->dialect.neutral_top_k, dialect.neutral_top_k);
      local_->dialect.max_completion_tokens |= dialect.max_completion_tokens;
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
