/// Completions from OpenAI-compatible servers, many requests in flight.
///
/// A prompt with ids, or a string, goes to /completions; messages without ids go to /chat/completions. Every
/// completion is a request of its own with a seed of its own, so that a server that ignores seeds does not
/// give a group of equal samples. Every sampling field is sent, since servers' defaults are not neutral;
/// fields that a server does not know are left out once it has said so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/servers.hpp"
#include "jsonl/json.hpp"
#include "sampling/backend.hpp"

namespace leap::sampling {

struct ServerOptions {
  http::ServersOptions servers;
  std::string model;      ///< its name at the server
  std::string tokenizer;  ///< directory; gives ids where the server gives none ("": there are none then)
  int concurrency = 32;   ///< requests in flight
  bool logprobs = true;   ///< ask for log-probs
  std::string logprobs_mode = "raw";  ///< what the server's log-probs are
  std::int64_t weight_version = 0;
};

/// Which request fields a server accepts.
struct Dialect {
  bool extended = true;                ///< top_k, min_p, return_token_ids and the like
  bool max_completion_tokens = false;  ///< /chat/completions wants this name
};

/// The request for one completion with draw key `key`.
Json server_request(const ServerOptions& server, const SamplingOptions& options, const Request& request,
                    std::uint64_t key, const Dialect& dialect);

/// Reads an answer; ids and log-probs where it gives them, under any of the names vLLM, llama.cpp, SGLang and
/// OpenAI use. `tokens` gets the text of each token that has a log-prob. Throws RecordError that says what is
/// malformed: the lengths of ids and log-probs differ, say, or the prompt's ids are not those sent.
Completion read_answer(const Json& answer, const SamplingOptions& options,
                       const std::vector<std::int64_t>& prompt_ids, std::vector<std::string>& tokens);

class ServerBackend : public Backend {
 public:
  explicit ServerBackend(ServerOptions options);
  ~ServerBackend() override;

  void run(const SamplingOptions& options, const NextRequest& next, const Done& done) override;
  std::vector<double> score(const std::vector<std::int64_t>& prompt_ids,
                            const std::vector<std::int64_t>& completion_ids, double temperature) override;

  std::string model_name() const override { return options_.model; }
  std::int64_t weight_version() const override { return options_.weight_version; }
  std::string logprobs_mode() const override { return options_.logprobs ? options_.logprobs_mode : ""; }

 private:
  struct Local;
  Completion complete(http::Session& session, const SamplingOptions& options, const Request& request,
                      std::uint64_t key);

  ServerOptions options_;
  http::Servers servers_;
  std::unique_ptr<Local> local_;
};

}  // namespace leap::sampling
