#include "cli/stream.hpp"
#include "sampling/leap_sample.hpp"

int main(int argc, char** argv) {
  using namespace leap;
  cli::Tool tool(
      "leap-sample",
      "Samples turns: first ones for problems without rollouts, next ones for open rollouts. Or the "
      "decompositions of problems, or implementations of their functions (--stage).",
      "Examples:\n  leap-sample --model m0 -n 8 < problems.jsonl > sampled.jsonl\n"
      "  leap-sample --url http://localhost:8000 --model NAME --tokenizer m0 -n 8 < problems.jsonl\n"
      "See leap-sample(1).");
  cli::StreamOptions stream;
  sampling::Options options;
  auto& sampler = options.sampler;
  auto& server = options.server;
  std::string history = "all";

  auto& flags = tool.flags();
  const char* group = "Sampling";
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return flags.add_option(name, value, help)->type_name(type)->group(group);
  };
  constexpr int kMany = 1 << 30;
  option("-n", sampler.rollouts, "N",
         "New rollouts (decompositions; implementations a function) where there are none (default 1)")
      ->check(CLI::Range(1, 1 << 20));
  cli::add_choice<sampling::Stage>(flags, "--stage", sampler.stage.stage,
                                   {{"turns", sampling::Stage::kTurns},
                                    {"decompose", sampling::Stage::kDecompose},
                                    {"implement", sampling::Stage::kImplement}},
                                   "What to sample: turns, decompose or implement (default turns)")
      ->group(group);
  option("--max-functions", sampler.stage.max_functions, "N",
         "Most functions that a decomposition is asked for (default 6)")
      ->check(CLI::Range(1, 64));
  option("--prompt-template", options.prompt_file, "FILE",
         "Prompts of decompose and implement; examples/prompts holds the built-in ones");
  option("--max-tokens", sampler.sampling.max_tokens, "N", "Most new tokens a turn (default 512)")
      ->check(CLI::Range(1, kMany));
  option("--temperature", sampler.sampling.temperature, "X", "Default 1; 0 is greedy")
      ->check(cli::number_in(0, 1e6));
  option("--top-p", sampler.sampling.top_p, "X",
         "Draw from the likeliest tokens of this mass (default 1, off)")
      ->check(cli::number_in(0, 1));
  option("--top-k", sampler.sampling.top_k, "N", "Draw from the N likeliest tokens (default 0, off)")
      ->check(CLI::Range(0, kMany));
  option("--stop", sampler.sampling.stop, "TEXT", "End a completion before TEXT; may be repeated")
      ->expected(1)
      ->take_all();
  option("--seed", sampler.sampling.seed, "S", "Seed of all draws (default 0)");
  option("--history", history, "WHAT",
         "Later prompts: all of the conversation, or last: the problem, the last code and its feedback "
         "(default all)")
      ->check(CLI::IsMember({"all", "last"}));
  option(
      "--feedback-template", options.feedback_file, "FILE",
      "What the policy is told after a turn; {status} {feedback} {code} {passed} {total} {turn} are filled "
      "in");

  group = "Local model";
  option("--model", options.model, "DIR", "Checkpoint in Hugging Face layout; with --url the model's name");
  option("--adapter", options.local.adapter_dir, "DIR", "LoRA adapter (PEFT) on top of it");
  option("--dtype", options.local.dtype, "TYPE", "Compute in float32 or bfloat16 (default float32)")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  option("--device", options.local.device, "NAME", "auto, cpu, cuda or cuda:N (default auto)");
  option("--threads", options.local.threads, "N", "Threads of the model (default: one a core)")
      ->check(CLI::Range(1, 1024));
  option("--batch-size", options.local.batch_size, "N", "Most sequences decoded together (default 32)")
      ->check(CLI::Range(1, 1 << 16));
  option("--kv-memory-mb", options.local.kv_memory_mb, "N",
         "Most memory of the sequences' keys and values (default: bounded by --batch-size alone)");
  flags
      .add_flag("--deterministic", sampler.deterministic,
                "One record at a time: log-probs equal to the last bit, also after --resume")
      ->group(group);

  group = "Server";
  option("--url", server.servers.urls, "URL", "OpenAI-compatible server; may be repeated to share the work")
      ->expected(1)
      ->take_all();
  option("--api", server.api, "NAME",
         "The servers' API: openai (vLLM too), sglang, llama, or auto: ask them (default auto)")
      ->check(CLI::IsMember({"auto", "openai", "sglang", "llama"}));
  option("--tokenizer", server.tokenizer, "DIR", "tokenizer.json and chat template of the server's model");
  option("--concurrency", server.concurrency, "N", "Most requests in flight (default 32)")
      ->check(CLI::Range(1, 4096));
  option("--api-key-env", server.servers.api_key_env, "NAME",
         "Environment variable with the API key (default OPENAI_API_KEY)");
  option("--timeout", server.servers.limits.total_s, "SECONDS", "Longest time of one request (default 600)")
      ->check(cli::number_in(0.1, 1e6));
  option("--tries", server.servers.tries, "N", "Tries of one request (default 8)")
      ->check(CLI::Range(1, 1000));
  option("--server-wait", server.servers.away_s, "SECONDS",
         "Stop when all servers have been away for so long (default 60)")
      ->check(cli::number_in(0, 1e6));
  option("--logprobs-mode", server.logprobs_mode, "MODE",
         "What the server's log-probs are: raw, scaled (by the temperature), processed, or none: do not ask "
         "for them (default: scaled with SGLang, else raw)")
      ->check(CLI::IsMember({"raw", "scaled", "processed", "none"}));
  option("--weight-version", server.weight_version, "N", "Recorded with each turn (default 0)");

  group = "Other modes";
  flags
      .add_flag("--score", options.score,
                "Draw nothing: write the log-probs of the completion ids that are there")
      ->group(group);
  option("--score-into", options.score_into, "FIELD", "logprobs or ref_logprobs (default logprobs)")
      ->check(CLI::IsMember({"logprobs", "ref_logprobs"}));
  flags.add_flag("--tokenize", options.tokenize, "Draw nothing: text or messages to ids, ids to text")
      ->group(group);
  cli::add_stream_options(tool, stream, cli::Kind::kSlow);
  flags.get_option("--jobs")->description("Most lines in work or waiting for an earlier one (default 256)");

  return tool.run(argc, argv, [&] {
    sampler.prompts.last_only = history == "last";
    server.logprobs = server.logprobs_mode != "none";
    sampling::run(tool, stream, options);
  });
}
