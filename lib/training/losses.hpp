/// The token loss of policy-gradient training and its denominators, on plain tensors.
///
/// Theory. A token of an action has the ratio rho = pi_now / pi_old and the advantage A of its action. The
/// policy terms are TRL's: grpo, bnpo, dr_grpo and dapo clip rho (PPO); cispo clips the weight but keeps
/// every token's gradient; gspo has one ratio an action, the geometric mean of its tokens' ratios; sft is
/// plain cross entropy. They differ in what the sum is divided by. Every denominator is a function of the
/// actions' lengths alone, so each token's factor is known before the first forward pass, and the loss is a
/// plain sum that can be split into micro-batches anywhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "training/options.hpp"

namespace leap::training {

/// The factor of every token of each action in the step's loss. `lengths` are the completion lengths of the
/// step's unmasked actions, `max_length` is dr_grpo's constant.
std::vector<double> token_factors(Loss loss, const std::vector<std::int64_t>& lengths, double max_length);

/// The completion tokens of some actions, one after the other: all tensors are fp32 [tokens].
struct Tokens {
  at::Tensor logprob;                 ///< the trainer's, with gradient
  at::Tensor entropy;                 ///< of the trainer's distributions, with gradient
  at::Tensor old;                     ///< the old policy's (unused by sft)
  at::Tensor advantage;               ///< (unused by sft)
  at::Tensor correction;              ///< factor of the policy term, or undefined
  at::Tensor reference;               ///< the reference model's log-probs, or undefined when beta is 0
  at::Tensor factor;                  ///< of token_factors
  std::vector<std::int64_t> lengths;  ///< tokens of each action
};

/// What the tokens of a step had in common, summed over micro-batches and ranks.
struct TokenStats {
  std::int64_t tokens = 0;
  double ratio_sum = 0, ratio_min = 0, ratio_max = 0;
  std::int64_t clipped_low = 0, clipped_high = 0;
  double kl_sum = 0, entropy_sum = 0;
  double moved_sum = 0;  ///< (rho - 1) - log rho: how far the policy is from the old one

  void add(const TokenStats& other);
};

/// The tokens' part of the step's loss, a scalar with gradient. Adds to `stats`.
at::Tensor token_loss(const LossOptions& options, const Tokens& tokens, TokenStats& stats);

}  // namespace leap::training
