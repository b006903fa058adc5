#include "training/update.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "jsonl/lines.hpp"
#include "records/records.hpp"
#include "training/actions.hpp"
#include "training/batch_wire.hpp"
#include "training/checkpoint.hpp"
#include "training/ranks.hpp"
#include "training/retention.hpp"
#include "training/staged_directory.hpp"
#include "training/text_encoder.hpp"
#include "training/trainer.hpp"

namespace leap::training {
namespace {

namespace fs = std::filesystem;

void require(bool holds, const std::string& message) {
  if (!holds) throw UsageError(message);
}

bool same_directory(const std::string& a, const std::string& b) {
  std::error_code error;
  return !a.empty() && !b.empty() && fs::equivalent(a, b, error);
}

/// The options, each in its range.
UpdateOptions checked(UpdateOptions options) {
  TrainerOptions& t = options.trainer;
  options.actions.sft = t.loss.loss == Loss::kSft;
  t.record_reference = options.ref_model.empty();
  t.compute = model::parse_dtype(options.dtype);
  require(!options.actions.sft || options.actions.train == Train::kTurns,
          "--loss sft trains solutions; --train does not apply");
  require(!options.out.empty(), "--out is missing: where does the checkpoint go?");
  require(t.loss.epsilon >= 0 && t.loss.epsilon_high >= 0,
          "--epsilon and --epsilon-high must not be negative");
  require(!t.loss.delta || *t.loss.delta > 0, "--delta must be above 0");
  require(t.loss.beta >= 0, "--beta must not be negative");
  require(t.max_completion_length >= 0, "--max-completion-length must not be negative");
  require(t.is_cap > 0, "--is-cap must be above 0");
  require(options.actions.temperature >= 0, "--temperature must not be negative");
  require(options.records_per_step >= 0, "--records-per-step must not be negative");
  require(options.num_iterations >= 1, "--num-iterations must be at least 1");
  require(options.max_steps >= 0 && options.save_steps >= 0,
          "--max-steps and --save-steps must not be negative");
  require(options.save_total_limit >= 1, "--save-total-limit must be at least 1: the checkpoint itself");
  require(t.target_kl >= 0, "--target-kl must not be negative");
  require(t.target_kl == 0 || !options.actions.sft,
          "--target-kl needs log-probs to compare with; sft has none");
  require(t.tokens_per_batch >= 1, "--tokens-per-batch must be at least 1");
  require(std::isfinite(t.rate.lr) && t.rate.lr >= 0 && t.rate.warmup_steps >= 0,
          "--lr and --warmup-steps must be numbers that are not negative");
  require(t.rate.schedule == Schedule::kConstant || t.rate.total_steps > 0,
          "a --schedule that falls needs --schedule-steps, the step at which the rate reaches 0");
  require(t.adam.beta1 >= 0 && t.adam.beta1 < 1 && t.adam.beta2 >= 0 && t.adam.beta2 < 1,
          "--adam-beta1 and --adam-beta2 must be at least 0 and below 1");
  require(t.adam.epsilon >= 0 && t.adam.weight_decay >= 0,
          "--adam-epsilon and --weight-decay must not be negative");
  require(t.max_grad_norm >= 0, "--max-grad-norm must not be negative");
  require(options.join_timeout_s > 0, "--join-timeout must be above 0");
  require(options.lora.rank >= 0 && std::isfinite(options.lora.alpha),
          "--lora-rank must not be negative, and --lora-alpha a number");
  require(options.lora.rank == 0 || options.adapter.empty(),
          "--adapter trains the adapter that is there; --lora-rank begins a new one");
  return options;
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Rewards of the records of a batch, for the metrics.
class RewardStats {
 public:
  void add(const Json& record) {
    const auto rollouts = record.find("rollouts");
    if (rollouts == record.end() || !rollouts->is_array()) return;
    std::vector<double> group;
    for (const Json& rollout : *rollouts) {
      const auto reward = rollout.find("reward");
      if (reward != rollout.end() && reward->is_number()) group.push_back(reward->get<double>());
    }
    if (group.empty()) return;
    ++groups_;
    const auto [low, high] = std::minmax_element(group.begin(), group.end());
    if (*low == *high) ++flat_;
    for (const double reward : group) {
      ++count_;
      sum_ += reward;
      squares_ += reward * reward;
    }
  }

  void write_to(Json& metrics) const {
    if (count_ == 0) return;
    const auto n = static_cast<double>(count_);
    const double mean = sum_ / n;
    metrics["reward_mean"] = mean;
    metrics["reward_std"] = std::sqrt(std::max(0.0, squares_ / n - mean * mean));
    metrics["flat_groups"] = static_cast<double>(flat_) / static_cast<double>(groups_);
  }

 private:
  std::int64_t groups_ = 0, flat_ = 0, count_ = 0;
  double sum_ = 0, squares_ = 0;
};

class Run {
 public:
  Run(const UpdateOptions& options, const UpdateHooks& hooks, const Ranks& ranks)
      : options_(options), hooks_(hooks), ranks_(ranks) {
    if (ranks_.first()) choose_source();
    ranks_.meet();
    if (!ranks_.first()) choose_source();
    check_same_start();
    config_ = model::read_config(base_);
  }

  UpdateReport run() {
    try {
      if (ranks_.first()) {
        read();
      } else {
        follow();
      }
    } catch (const NotFinite&) {
      save();
      throw;
    } catch (const std::exception& e) {
      // In the middle of a step the other ranks cannot help to save the ones before.
      if (in_step_ || !ranks_.first()) throw;
      finish(e.what());
      throw;
    }
    finish("");
    report_.step = state_.step;
    return report_;
  }

 private:
  enum Word : std::int64_t { kEnd, kBatch };

  /// What the other ranks do while the first one reads.
  void follow() {
    while (ranks_.of_first(kEnd) == kBatch) {
      Batch batch;
      batch.actions = from_bytes(ranks_.of_first(std::string()));
      steps(std::move(batch), {}, 0);
    }
  }

  /// All ranks save and leave, with the reason of the first one if there is one.
  void finish(const std::string& error) {
    if (ranks_.first()) (void)ranks_.of_first(kEnd);
    // A resumed run that had nothing left to do leaves the checkpoint alone; any other run writes one.
    const bool nothing = report_.steps == 0 && !same_directory(options_.out, source_) && interrupted() == 0;
    if (error.empty() && nothing) unsaved_ = true;
    unsaved_ = ranks_.of_first(unsaved_ ? 1 : 0) != 0;
    const auto signal = static_cast<int>(ranks_.of_first(interrupted()));
    const std::string reason = ranks_.of_first(error);
    save();
    if (signal != 0) request_interrupt(signal);
    if (signal == 0 && reason.empty()) publish();
    if (error.empty() && !reason.empty()) throw Error("rank 0 went away: " + reason);
  }

  /// Ranks on different machines may see different files.
  void check_same_start() {
    const auto mine = std::array{state_.step,
                                 state_.updates,
                                 state_.batches,
                                 state_.iteration,
                                 std::int64_t{from_checkpoint_},
                                 std::int64_t{adapts_}};
    check_same(mine, "begins elsewhere");
  }

  template <class T>
  void check_same(const T& mine, const std::string& what) {
    const std::vector<T> all = ranks_.gather(mine);
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] == all[0]) continue;
      throw Error("rank " + std::to_string(rank) + " " + what + " than rank 0; do all see the same " +
                  source_ + "?");
    }
  }

  void choose_source() {
    const bool resumes = !options_.resume.empty() && fs::exists(options_.resume);
    if (resumes) {
      source_ = options_.resume;
    } else {
      source_ = options_.continued.empty() ? options_.model : options_.continued;
    }
    const bool from_run = resumes || !options_.continued.empty();
    require(!from_run || is_adapter(source_) || (options_.lora.rank == 0 && options_.adapter.empty()),
            source_ + " holds a whole model; --lora-rank and --adapter do not go with it");
    adapts_ = options_.lora.rank > 0 || !options_.adapter.empty() || (from_run && is_adapter(source_));
    require(!source_.empty() && !(adapts_ && options_.model.empty()),
            adapts_ ? "--model is missing: which model does the adapter belong to?"
                    : "--model is missing: which model is to be trained?");
    base_ = adapts_ ? options_.model : source_;
    require(!is_occupied(options_.out) || (resumes && same_directory(options_.out, options_.resume)) ||
                same_directory(options_.out, options_.continued),
            "--out " + options_.out + " is there and not empty; name a new directory, or give --resume " +
                options_.out + " to go on with that run");
    from_checkpoint_ = resumes || !options_.continued.empty();
    if (from_checkpoint_) state_ = read_state(source_);
    if (resumes) {
      require(state_.records_per_step == options_.records_per_step &&
                  state_.num_iterations == options_.num_iterations,
              source_ + " was trained with --records-per-step " + std::to_string(state_.records_per_step) +
                  " --num-iterations " + std::to_string(state_.num_iterations) + "; resume it with the same");
    } else {
      state_.batches = state_.iteration = state_.run_steps = 0;
      state_.old.clear();
    }
    state_.records_per_step = options_.records_per_step;
    state_.num_iterations = options_.num_iterations;
    if (ranks_.first()) check_outputs(resumes);
  }

  void check_outputs(bool resumes) {
    if (options_.save_total_limit > 1) check_link(options_.out);
    check_writable(options_.out, options_.save_total_limit);
    const std::string& dir = options_.publish;
    if (dir.empty()) return;
    require(!is_occupied(dir) || (fs::exists(dir + "/leap_state.json") && !is_checkpoint(dir)),
            "--publish " + dir + " is there and holds something else");
    for (const std::string& other : {options_.out, options_.model, options_.resume, options_.continued}) {
      require(other.empty() || real_target(dir) != real_target(other),
              "--publish " + dir + " is used otherwise; name another directory");
    }
    check_writable(dir);
    if (resumes && is_occupied(dir)) published_ = read_step(dir);
  }

  void read() {
    if (finished()) return;
    jsonl::LineReader reader(options_.files);
    jsonl::Batch lines;
    const auto most =
        static_cast<std::size_t>(options_.records_per_step == 0 ? 64 : options_.records_per_step);
    while (reader.next(lines, std::size_t{1} << 22, most)) {
      for (std::size_t i = 0; i < lines.lines.size(); ++i) {
        ++report_.records;
        add(lines.lines[i], jsonl::line_name(lines.file, lines.first + i));
        if (records_ == options_.records_per_step && records_ > 0) train();
        if (stopped()) return;
      }
      if (hooks_.progress) hooks_.progress(report_.records, reader.bytes_read(), reader.bytes_total(), note_);
    }
    if (interrupted() != 0) return;  // the records at hand may be a part of a batch only
    if (records_ > 0) train();
    if (!stopped() && (seen_ < state_.batches || state_.iteration > 0)) {
      throw Error(
          source_ + " has done " + std::to_string(state_.step) +
          " steps, and the input ends before; resume over the same input, or use --continue for new input");
    }
  }

  void add(std::string_view line, const std::string& where) {
    try {
      const Json record = jsonl::parse_record(line);
      records::check_version(record);
      for (Action& action : checked_actions(record)) batch_.actions.push_back(std::move(action));
      rewards_.add(record);
      ++records_;
    } catch (const RecordError& e) {
      if (!options_.keep_going) throw Error(where + ": " + e.what());
      hooks_.bad_record(where, e.what());
    }
  }

  std::vector<Action> checked_actions(const Json& record) {
    if (options_.actions.sft && encoder_ == nullptr) encoder_ = make_text_encoder(base_, config_);
    std::vector<Action> actions = actions_of(record, options_.actions, encoder_.get());
    for (const Action& action : actions) {
      for (const auto* ids : {&action.prompt, &action.completion}) {
        for (const std::int64_t id : *ids) {
          if (id >= 0 && id < config_.vocab_size) continue;
          throw RecordError("token id " + std::to_string(id) + " is not in the model's vocabulary of " +
                            std::to_string(config_.vocab_size) +
                            "; was the record sampled from another model?");
        }
      }
    }
    return actions;
  }

  /// All steps on the batch at hand that an earlier process has not done.
  void train() {
    Batch batch = std::exchange(batch_, {});
    const RewardStats rewards = std::exchange(rewards_, {});
    const std::int64_t records = std::exchange(records_, 0);
    if (seen_++ < state_.batches) return;
    if (!ranks_.alone()) {
      (void)ranks_.of_first(kBatch);
      (void)ranks_.of_first(to_bytes(batch.actions));
    }
    steps(std::move(batch), rewards, records);
  }

  void steps(Batch batch, const RewardStats& rewards, std::int64_t records) {
    in_step_ = !ranks_.alone();
    batch.old = state_.old;
    batch.iteration = state_.iteration;
    load();
    bool stop = false;
    do {
      Json metrics = trainer_->step(batch, state_.step + 1, state_.updates);
      ++state_.step;
      ++state_.run_steps;
      if (!metrics.contains("skipped")) ++state_.updates;
      if (++state_.iteration == options_.num_iterations || metrics.contains("kl_stop")) {
        state_.iteration = 0;
        ++state_.batches;
      }
      state_.old = state_.iteration > 0 ? batch.old : std::vector<std::vector<float>>();
      ++report_.steps;
      unsaved_ = true;
      // Saved first: who reads the metrics finds the weights.
      if (options_.save_steps > 0 && state_.step % options_.save_steps == 0) save();
      publish();
      if (ranks_.first()) report_step(std::move(metrics), rewards, records);
      stop = ranks_.of_first(stopped() ? 1 : 0) != 0;
    } while (state_.iteration > 0 && !stop);
    in_step_ = false;
  }

  void report_step(Json metrics, const RewardStats& rewards, std::int64_t records) {
    Json measured = std::move(metrics["measured"]);
    metrics.erase("measured");
    metrics["records"] = records;
    rewards.write_to(metrics);
    measured["peak_memory_mb"] = peak_memory_mb();
    if (!ranks_.alone()) measured["ranks"] = ranks_.size();
    metrics["measured"] = std::move(measured);
    hooks_.metrics(metrics);
    note_ = "step " + std::to_string(state_.step);
  }

  void save() {
    if (!std::exchange(unsaved_, false)) return;
    load();
    write_checkpoint(options_.out, source_, *policy_, trainer_->optimiser(), state_, ranks_,
                     options_.save_total_limit);
  }

  void publish() {
    if (options_.publish.empty() || ranks_.of_first(published_ == state_.step ? 1 : 0) != 0) return;
    load();
    if (ranks_.first()) write_weights(options_.publish, source_, *policy_, state_);
    published_ = state_.step;
  }

  void load() {
    if (trainer_ != nullptr) return;
    const at::Device device = ranks_.device(model::parse_device(options_.device));
    if (!adapts_) {
      policy_ = Policy::whole(source_, device);
    } else if (from_checkpoint_) {
      policy_ = Policy::adapter(base_, source_, device);
    } else if (!options_.adapter.empty()) {
      policy_ = Policy::adapter(base_, options_.adapter, device);
    } else {
      policy_ = Policy::new_adapter(base_, options_.lora, options_.seed, device);
    }
    trainer_ = std::make_unique<Trainer>(
        options_.trainer, *policy_, [this] { return reference(); }, ranks_);
    if (from_checkpoint_) read_optimiser(source_, trainer_->optimiser());
    if (!ranks_.alone()) check_same(policy_->digest(), "has read other weights");
  }

  std::shared_ptr<const model::Decoder> reference() {
    if (adapts_ && options_.ref_model.empty()) return policy_->base();
    const std::string& dir = options_.ref_model.empty() ? options_.model : options_.ref_model;
    if (dir.empty()) {
      throw Error("--beta needs a reference: ref_logprobs in every trained record, --ref-model, or --model");
    }
    return std::make_shared<model::Decoder>(dir, at::kFloat,
                                            ranks_.device(model::parse_device(options_.device)));
  }

  bool finished() const { return options_.max_steps > 0 && state_.run_steps >= options_.max_steps; }
  bool stopped() const { return finished() || interrupted() != 0; }

  UpdateOptions options_;
  const UpdateHooks& hooks_;
  const Ranks& ranks_;
  std::string source_;   // where the weights that are trained come from
  std::string base_;     // where config and tokenizer do, and the weights under an adapter
  bool adapts_ = false;  // an adapter is trained
  bool from_checkpoint_ = false;
  model::ModelConfig config_;
  State state_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<TextEncoder> encoder_;
  UpdateReport report_;
  // The batch being read.
  Batch batch_;
  RewardStats rewards_;
  std::int64_t records_ = 0;
  std::int64_t seen_ = 0;  // batches read, those of earlier processes included
  bool unsaved_ = false;
  bool in_step_ = false;         // with other ranks, from the batch to its last step's end
  std::int64_t published_ = -1;  // step of the published weights
  std::string note_;
};

}  // namespace

UpdateReport run_update(const UpdateOptions& options, const UpdateHooks& hooks) {
  const UpdateOptions all = checked(options);
  const std::unique_ptr<Ranks> ranks = Ranks::join(all.place, all.command, all.join_timeout_s);
  if (ranks == nullptr) return {};  // a signal came first
  if (ranks->alone()) return Run(all, hooks, *ranks).run();
  const std::string speaker = "rank " + std::to_string(ranks->rank()) + ": ";
  try {
    return Run(all, hooks, *ranks).run();
  } catch (const UsageError& e) {
    ranks->fail(e.what());
    throw UsageError(speaker + e.what());
  } catch (const std::exception& e) {
    ranks->fail(e.what());
    throw Error(speaker + e.what());
  }
}

}  // namespace leap::training
