/// All that leap-sample can be asked for, and the one call that does it.
#pragma once

#include <string>

#include "cli/stream.hpp"
#include "sampling/local_plugin.hpp"
#include "sampling/sampler.hpp"
#include "sampling/server_backend.hpp"

namespace leap::sampling {

struct Options {
  std::string model;     ///< directory of a local model; with `server.servers.urls` the name there
  LocalOptions local;    ///< all but the directory
  ServerOptions server;  ///< used when it has URLs
  SamplerOptions sampler;
  std::string feedback_file;  ///< "" for the built-in text
  std::string prompt_file;    ///< template of a stage's prompts; "" for the built-in ones
  bool tokenize = false, score = false;
  std::string score_into = "logprobs";
};

void run(cli::Tool& tool, const cli::StreamOptions& stream, Options options);

}  // namespace leap::sampling
