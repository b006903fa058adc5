/// What servers are asked and how their answers are read: OpenAI's routes, which vLLM, SGLang, llama.cpp and
/// others have, and the routes of SGLang and llama.cpp that take and give token ids.
///
/// Every sampling field is sent, since servers' defaults are not neutral.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/servers.hpp"
#include "jsonl/json.hpp"
#include "sampling/backend.hpp"

namespace leap::sampling {

enum class Api { kOpenAi, kSglang, kLlama };

/// How a server wants to be asked.
struct Dialect {
  Api api = Api::kOpenAi;
  bool extended = true;                ///< top_k, min_p, return_token_ids, sampling_seed and the like
  int neutral_top_k = -1;              ///< vLLM and SGLang; llama-cpp-python wants 0
  bool max_completion_tokens = false;  ///< /chat/completions wants this name
};

/// One request for one completion.
struct Call {
  Api api = Api::kOpenAi;  ///< whose route it is; OpenAI's for messages without ids, whatever the server is
  bool chat = false;
  http::At at = http::At::kBase;
  std::string path;
  Json body;
};

/// The call for one completion with draw key `key`. `model`: its name at the server.
Call server_call(const std::string& model, bool logprobs, const SamplingOptions& options,
                 const Request& request, std::uint64_t key, const Dialect& dialect);

/// Does a server's message complain of a field that can be said in another way, or left out?
bool names_a_field(std::string_view message);

/// Adapts `dialect` to a server that refused `call`, saying `why`. False when that is no matter of fields.
bool adapt(Dialect& dialect, const Call& call, std::string_view why);

/// Reads the answer to a call of `api`; ids and log-probs where it gives them, on OpenAI's routes under any
/// of the names vLLM, llama.cpp, SGLang and OpenAI use. `tokens` gets the text of each token that has a
/// log-prob. Throws RecordError that says what is malformed: the lengths of ids and log-probs differ, say, or
/// the prompt's ids are not those sent.
Completion read_answer(Api api, const Json& answer, const SamplingOptions& options,
                       const std::vector<std::int64_t>& prompt_ids, std::vector<std::string>& tokens);

/// What an API's log-probs are unless the user knows better: SGLang has "scaled" ones, the others "raw".
std::string default_logprobs_mode(Api api);

}  // namespace leap::sampling
