/// The output layer and its softmax: log-probs of given ids and the gradient of a loss on them, for a chunk
/// of tokens at a time, so that logits of all tokens never exist together.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace leap::model {

struct TokenScores {
  at::Tensor logprobs;  ///< [n] fp32: log-softmax of logits / temperature at the targets
  at::Tensor entropy;   ///< [n] fp32, of the same distributions
};

inline constexpr std::int64_t kScoreChunk = 128;

/// Scores `targets` [n] given the hidden states [n, d] that predict them (position t-1 scores token t) and
/// `temperature` [n] fp32. Differentiable in hidden and the output weight; the backward pass computes the
/// logits again.
TokenScores score_tokens(const at::Tensor& hidden, const at::Tensor& output_weight, const at::Tensor& targets,
                         const at::Tensor& temperature, std::int64_t chunk = kScoreChunk);

/// The gradient of a loss by the scores of the rows from `from` on; `entropy` is undefined where the loss
/// does not depend on it.
using ScoreGradient = std::function<TokenScores(std::int64_t from, const TokenScores& scores)>;

/// The same in one pass, for a loss that is a sum over tokens: returns its gradient by `hidden`, and adds the
/// one by the output weight to the weight's grad() if it requires one.
at::Tensor differentiate_scores(const at::Tensor& hidden, const at::Tensor& output_weight,
                                const at::Tensor& targets, const at::Tensor& temperature,
                                const ScoreGradient& gradient, std::int64_t chunk = kScoreChunk);

}  // namespace leap::model
