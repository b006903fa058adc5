#include "sampling/leap_sample.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "sampling/modes.hpp"

namespace leap::sampling {
namespace {

void check(const cli::Tool& tool, const Options& options) {
  const auto refuse = [](bool wrong, const char* why) {
    if (wrong) throw UsageError(why);
  };
  const bool served = !options.server.servers.urls.empty();
  const SamplingOptions& sampling = options.sampler.sampling;
  refuse(options.model.empty() && !(options.tokenize && !options.server.tokenizer.empty()),
         "--model is missing: a directory, or with --url the model's name at the server");
  refuse(options.tokenize && options.score, "--tokenize and --score exclude each other");
  refuse(options.score && served, "--score needs a local model: it does not go with --url");
  refuse(options.sampler.stage.stage == Stage::kTurns && !options.prompt_file.empty(),
         "--prompt-template goes with --stage");
  refuse(served && !options.local.adapter_dir.empty(),
         "--adapter does not go with --url: load it at the server and name it with --model");
  refuse(!served && !options.server.tokenizer.empty() && !options.tokenize,
         "--tokenizer goes with --url; a local model brings its own");
  for (const std::string& stop : sampling.stop) refuse(stop.empty(), "--stop: the text is empty");
  if (!options.score && !options.tokenize && sampling.temperature > 0 &&
      (sampling.top_p < 1 || sampling.top_k > 0)) {
    tool.warn(
        "--top-p and --top-k choose among fewer tokens than the log-probs are of; training ratios are "
        "biased");
  }
}

std::unique_ptr<Backend> local_backend(const Options& options) {
  LocalOptions local = options.local;
  local.model_dir = options.model;
  return load_local_backend(local);
}

void tokenize(cli::Tool& tool, const cli::StreamOptions& stream, const Options& options) {
  std::optional<TokenizeMode> mode;
  std::once_flag once;
  cli::RecordWork work;
  work.process = [&](Json& line) {
    std::call_once(once, [&] {
      mode.emplace(options.server.tokenizer.empty() ? options.model : options.server.tokenizer);
    });
    mode->process(line);
    return true;
  };
  work.complete = TokenizeMode::complete;
  const auto records = cli::each_record(tool, stream, work);
  cli::write_summary(tool, stream, records, Json::object());
}

void score_all(cli::Tool& tool, cli::StreamOptions stream, const Options& options) {
  ScoreOptions how;
  how.reference = options.score_into == "ref_logprobs";
  how.temperature = options.sampler.sampling.temperature;
  stream.jobs = 1;  // the model has threads of its own
  std::unique_ptr<Backend> backend;
  cli::RecordWork work;
  work.kind = cli::Kind::kSlow;
  work.process = [&](Json& record) {
    if (has_ids(record)) {
      if (!backend) backend = local_backend(options);
      score(record, how, *backend);
    }
    return true;
  };
  work.complete = [&](const Json& record) { return !wants_scores(record, how); };
  const auto records = cli::each_record(tool, stream, work);
  cli::write_summary(tool, stream, records, Json::object());
}

}  // namespace

void run(cli::Tool& tool, const cli::StreamOptions& stream, Options options) {
  check(tool, options);
  if (options.tokenize) return tokenize(tool, stream, options);
  if (options.score) return score_all(tool, stream, options);

  const bool served = !options.server.servers.urls.empty();
  options.server.model = options.model;
  options.sampler.prompts.tokenizer = served ? options.server.tokenizer : options.model;
  if (!options.feedback_file.empty()) options.sampler.prompts.feedback = read_file(options.feedback_file);
  if (!options.prompt_file.empty()) options.sampler.stage.form = read_file(options.prompt_file);
  const SampleTotals totals = sample(tool, stream, options.sampler, [&]() -> std::unique_ptr<Backend> {
    if (served) return std::make_unique<ServerBackend>(options.server);
    return local_backend(options);
  });
  cli::write_summary(tool, stream, totals.records, totals.json());
}

}  // namespace leap::sampling
