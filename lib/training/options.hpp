/// What can be asked of a training run, with the defaults.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training/placement.hpp"

namespace leap::training {

enum class Loss { kDrGrpo, kGrpo, kBnpo, kDapo, kCispo, kGspo, kSft };

struct LossOptions {
  Loss loss = Loss::kDrGrpo;
  double epsilon = 0.2;
  double epsilon_high = 0.28;
  std::optional<double> delta;  ///< cap of rho in the unclipped term
  double beta = 0;              ///< weight of the KL term
  double entropy_coef = 0;      ///< weight of the entropy, which the loss then rewards
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< decoupled, on tensors with two or more dimensions only
};

/// A new low-rank adapter.
struct LoraOptions {
  std::int64_t rank = 0;  ///< 0: none
  double alpha = 32;
  std::vector<std::string> targets = {"all-linear"};  ///< kinds of layers (q_proj, ..), or all-linear
};

enum class Schedule { kConstant, kLinear, kCosine };

/// Step t of t = 1, 2, .. uses lr * min(1, t / warmup_steps), from there on constant or falling to 0 at
/// `total_steps`.
struct RateOptions {
  double lr = 1e-6;
  Schedule schedule = Schedule::kConstant;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;  ///< of the falling schedules
};

/// Which completions of a record are trained.
enum class Train { kTurns, kDecomposition, kImplementation };

struct ActionOptions {
  Train train = Train::kTurns;
  bool sft = false;          ///< known-good solutions instead of sampled actions
  double temperature = 1;    ///< of actions whose record has none
  bool per_rollout = false;  ///< a turn's weight is 1 / the number of its rollout's actions
  bool mask_truncated =
      false;  ///< actions with finish_reason `length` have no loss and are in no denominator
};

struct TrainerOptions {
  LossOptions loss;
  AdamOptions adam;
  RateOptions rate;
  double max_grad_norm = 1.0;        ///< 0: off
  double max_completion_length = 0;  ///< dr_grpo's constant; 0: the largest recorded max_tokens, else 1024
  bool record_reference = true;      ///< a batch whose actions all have ref_logprobs needs no reference model
  bool recompute_old = false;        ///< old log-probs are the trainer's own before the batch's first step
  double target_kl = 0;              ///< steps on a batch end when the policy has moved so far; 0: never
  double is_cap = 2.0;               ///< with recompute_old: cap of the factor trainer / sampler
  std::int64_t tokens_per_batch = 2048;  ///< most tokens in one forward pass
  at::ScalarType compute = at::kFloat;   ///< of activations and products; weights and moments are fp32
  bool checkpointing = false;            ///< activations are computed again in the backward pass
};

struct UpdateOptions {
  std::vector<std::string> files;  ///< none: stdin
  std::string model;               ///< where a new run's weights come from
  std::string out;                 ///< the checkpoint to write
  std::string resume;              ///< go on from this checkpoint over the same input, if it is there already
  std::string continued;           ///< weights, moments and step count from this checkpoint, for new input
  std::string adapter;             ///< the LoRA adapter over `model` to train on
  LoraOptions lora;                ///< or a new one
  std::string ref_model;           ///< reference of the KL term; default `model`
  std::string device = "auto";     ///< auto, cpu or cuda
  std::string dtype = "float32";   ///< of the computation: float32 or bfloat16
  std::int64_t records_per_step = 0;  ///< 0: the whole input
  std::int64_t num_iterations = 1;    ///< steps on each batch
  std::int64_t max_steps = 0;         ///< of this run, resumed parts included; 0: no limit
  std::int64_t save_steps =
      20;  ///< a checkpoint every so many steps, besides the one at the end; 0: only that
  std::int64_t save_total_limit = 1;  ///< checkpoints kept, the newest included
  std::string publish;                ///< the weights alone are written here after every step
  std::int64_t seed = 0;
  bool keep_going = false;
  Placement place;              ///< among the processes of this run
  double join_timeout_s = 300;  ///< longest wait for the others to start
  std::string command;          ///< the command line, to be the same for all of them
  ActionOptions actions;        ///< `sft` follows from the loss
  TrainerOptions trainer;
};

}  // namespace leap::training
