#include <unistd.h>

#include "cli/stream.hpp"
#include "jsonl/lines.hpp"
#include "training/update.hpp"

namespace {

using namespace leap::training;

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

void bind_method(CLI::App& app, UpdateOptions& o) {
  auto& loss = o.trainer.loss;
  const auto add = [&app](const char* name, auto& value, const char* type, const char* help) {
    app.add_option(name, value, help)->type_name(type)->group("Method");
  };
  const auto choose = [&app](const char* name, auto& value, auto choices, const char* help) {
    leap::cli::add_choice(app, name, value, choices, help)->group("Method");
  };
  choose("--loss", loss.loss,
         Choices<Loss>{{"dr_grpo", Loss::kDrGrpo},
                       {"grpo", Loss::kGrpo},
                       {"bnpo", Loss::kBnpo},
                       {"dapo", Loss::kDapo},
                       {"cispo", Loss::kCispo},
                       {"gspo", Loss::kGspo},
                       {"sft", Loss::kSft}},
         "dr_grpo, grpo, bnpo, dapo, cispo, gspo or sft (default dr_grpo)");
  add("--epsilon", loss.epsilon, "X", "The ratio is clipped below 1 - X (default 0.2)");
  add("--epsilon-high", loss.epsilon_high, "X", "The ratio is clipped above 1 + X (default 0.28)");
  add("--delta", loss.delta, "X", "Cap of the ratio in the unclipped term (default off)");
  add("--beta", loss.beta, "X", "Weight of the KL term (default 0)");
  add("--ref-model", o.ref_model, "DIR",
      "Reference of the KL term (default: the records' ref_logprobs where all have them, else --model)");
  add("--lora-rank", o.lora.rank, "R", "Train a new LoRA adapter of this rank, not the model (default off)");
  add("--lora-alpha", o.lora.alpha, "X", "Its scale is X / R (default 32)");
  app.add_option(
         "--lora-targets", o.lora.targets,
         "Layers it adapts, as q_proj,v_proj; all-linear is all but the output layer (default all-linear)")
      ->type_name("NAMES")
      ->delimiter(',')
      ->group("Method");
  add("--adapter", o.adapter, "DIR", "Train this LoRA adapter on");
  add("--entropy-coef", loss.entropy_coef, "X", "Weight of an entropy bonus (default 0)");
  add("--max-completion-length", o.trainer.max_completion_length, "L",
      "Constant length of dr_grpo (default: the largest recorded max_tokens of a step, else 1024)");
  choose("--old-logprobs", o.trainer.recompute_old, Choices<bool>{{"record", false}, {"recompute", true}},
         "record: the sampler's; recompute: the trainer's before a batch's first step (default record)");
  add("--is-cap", o.trainer.is_cap, "C", "With recompute: cap of the weight trainer / sampler (default 2)");
  add("--temperature", o.actions.temperature, "X", "Of actions whose record has none (default 1)");
  app.add_flag("--mask-truncated", o.actions.mask_truncated,
               "Actions that ended at their length limit have no loss")
      ->group("Method");
  choose("--train", o.actions.train,
         Choices<Train>{{"turns", Train::kTurns},
                        {"decomposition", Train::kDecomposition},
                        {"implementation", Train::kImplementation}},
         "turns, decomposition or implementation (default turns)");
  choose("--turn-weight", o.actions.per_rollout, Choices<bool>{{"turn", false}, {"rollout", true}},
         "turn: turns count alike; rollout: rollouts do (default turn)");
}

void bind_optimiser(CLI::App& app, UpdateOptions& o) {
  auto& t = o.trainer;
  const auto add = [&app](const char* name, auto& value, const char* type, const char* help) {
    app.add_option(name, value, help)->type_name(type)->group("Optimiser");
  };
  add("--lr", t.rate.lr, "X", "Learning rate (default 1e-6)");
  add("--warmup-steps", t.rate.warmup_steps, "N", "Steps in which the rate rises to --lr (default 0)");
  leap::cli::add_choice<Schedule>(
      app, "--schedule", t.rate.schedule,
      {{"constant", Schedule::kConstant}, {"linear", Schedule::kLinear}, {"cosine", Schedule::kCosine}},
      "constant, linear or cosine (default constant)")
      ->group("Optimiser");
  add("--schedule-steps", t.rate.total_steps, "N", "Step at which a falling rate reaches 0");
  add("--weight-decay", t.adam.weight_decay, "X",
      "Decoupled, on tensors of two or more dimensions (default 0.01)");
  add("--adam-beta1", t.adam.beta1, "X", "Decay of the first moment (default 0.9)");
  add("--adam-beta2", t.adam.beta2, "X", "Decay of the second moment (default 0.999)");
  add("--adam-epsilon", t.adam.epsilon, "X", "Added to the denominator (default 1e-8)");
  add("--max-grad-norm", t.max_grad_norm, "X", "Largest global gradient norm, 0 is off (default 1)");
  add("--records-per-step", o.records_per_step, "N", "Records an optimiser step uses, 0 is all (default 0)");
  add("--num-iterations", o.num_iterations, "K", "Optimiser steps on each batch of records (default 1)");
  add("--target-kl", t.target_kl, "X",
      "End the steps on a batch once the policy has moved this far, 0 is off (default 0)");
  add("--max-steps", o.max_steps, "M",
      "Stop when the run has done M steps, over resumes; 0 is off (default 0)");
  add("--tokens-per-batch", t.tokens_per_batch, "T",
      "Most tokens in one forward pass; never changes the result (default 2048)");
  add("--dtype", o.dtype, "NAME",
      "float32 or bfloat16: type of the computation; weights and moments are float32 (default float32)");
  app.add_flag("--gradient-checkpointing", t.checkpointing,
               "Keep no activations, compute them again: less memory, the same result")
      ->group("Optimiser");
  add("--seed", o.seed, "S", "Seed of what is drawn: the start of a new adapter (default 0)");
}

void bind_files(CLI::App& app, UpdateOptions& o, leap::cli::StreamOptions& stream) {
  const char* group = "Input and output";
  const auto add = [&app, group](const char* name, auto& value, const char* type, const char* help) {
    return app.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("FILE", o.files, "", "JSON Lines files; '-' or none is stdin");
  add("--model", o.model, "DIR", "Model to train, in Hugging Face layout");
  add("--out", o.out, "DIR", "Checkpoint to write, a new directory")->required();
  add("--resume", o.resume, "DIR", "Go on from the checkpoint DIR, if it is there, over the same input");
  add("--continue", o.continued, "DIR",
      "Start from the checkpoint DIR, moments and step count too, on new input");
  add("--save-steps", o.save_steps, "N",
      "Write the checkpoint every N steps too, 0 is only at the end (default 20)");
  add("--save-total-limit", o.save_total_limit, "K",
      "Keep K checkpoints: --out and older ones beside it, as OUT.step-N (default 1)");
  add("--publish", o.publish, "DIR", "Write the weights alone to DIR after every step (default off)");
  add("--device", o.device, "NAME", "auto, cpu or cuda (default auto)");
  add("--join-timeout", o.join_timeout_s, "S",
      "Longest wait for the other processes of the run to start (default 300)");
  app.add_flag("--keep-going", o.keep_going, "Skip records that cannot be used, report them, exit 1")
      ->group(group);
  add("--summary", stream.summary, "FILE", "Write a one-line JSON summary to FILE");
  auto* quiet = app.add_flag("-q,--quiet", stream.quiet, "No progress on a terminal")->group(group);
  app.add_flag("--progress", stream.progress, "Progress on stderr even when it is no terminal")
      ->excludes(quiet)
      ->group(group);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace leap;
  cli::ensure_environment("OMP_WAIT_POLICY", "PASSIVE", argv);
  cli::Tool tool("rl-update", "Trains a model on records with advantages, or on solutions with --loss sft.",
                 "Metrics go to stdout, one JSON line a step; the checkpoint to --out.\n\nExample:\n"
                 "  rl-update --model m0 --out m1 --lr 1e-6 ranked.jsonl > metrics.jsonl\nSee rl-update(1).");
  UpdateOptions options;
  cli::StreamOptions stream;
  bind_files(tool.flags(), options, stream);
  bind_method(tool.flags(), options);
  bind_optimiser(tool.flags(), options);

  return tool.run(argc, argv, [&] {
    stream.files = options.files;
    options.place = placement_from_environment();
    for (int i = 1; i < argc; ++i) options.command += std::string(argv[i]) + '\0';
    const bool first = options.place.rank == 0;  // the one that reads and writes
    if (first) cli::require_input(stream);
    cli::Progress progress(tool, stream);
    jsonl::LineWriter out(STDOUT_FILENO, "stdout");
    UpdateHooks hooks;
    hooks.metrics = [&](const Json& metrics) { out.write(jsonl::dump(metrics) + "\n"); };
    hooks.bad_record = [&](const auto& line, const auto& message) { tool.report_failed(line, message); };
    hooks.progress = [&](std::uint64_t lines, std::uint64_t done, std::uint64_t total,
                         const std::string& note) { progress.update(lines, done, total, note); };
    const UpdateReport report = run_update(options, hooks);
    if (!first) return;
    cli::write_summary(tool, stream, report.records, {{"steps", report.steps}, {"step", report.step}});
  });
}
