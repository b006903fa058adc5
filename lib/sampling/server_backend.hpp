/// Completions from OpenAI-compatible servers, many requests in flight.
///
/// A prompt with ids, or a string, goes to /completions (SGLang: /generate, llama.cpp: /completion); messages
/// without ids go to /chat/completions. Every completion is a request of its own with a seed of its own, so
/// that a server that ignores seeds does not give a group of equal samples. Fields that a server does not
/// know are left out once it has said so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/servers.hpp"
#include "jsonl/json.hpp"
#include "sampling/server_protocol.hpp"

namespace leap::sampling {

struct ServerOptions {
  http::ServersOptions servers;
  std::string model;         ///< its name at the server
  std::string tokenizer;     ///< directory; gives ids where the server gives none ("": there are none then)
  int concurrency = 32;      ///< requests in flight
  bool logprobs = true;      ///< ask for log-probs
  std::string api = "auto";  ///< openai, sglang, llama, or auto: ask the servers; all have the same
  std::string logprobs_mode{};  ///< what the server's log-probs are; "": by its API
  std::int64_t weight_version = 0;
};

class ServerBackend : public Backend {
 public:
  explicit ServerBackend(ServerOptions options);
  ~ServerBackend() override;

  void run(const SamplingOptions& options, const NextRequest& next, const Done& done) override;
  std::vector<double> score(const std::vector<std::int64_t>& prompt_ids,
                            const std::vector<std::int64_t>& completion_ids, double temperature) override;

  std::string model_name() const override { return options_.model; }
  std::int64_t weight_version() const override { return options_.weight_version; }
  std::string logprobs_mode() const override;

 private:
  struct Local;
  Dialect dialect(http::Session& session);
  Completion complete(http::Session& session, const SamplingOptions& options, const Request& request,
                      std::uint64_t key);

  ServerOptions options_;
  http::Servers servers_;
  std::unique_ptr<Local> local_;
};

}  // namespace leap::sampling
