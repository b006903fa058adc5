/// One token from one row of logits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sampling/backend.hpp"

namespace leap::model {

struct Draw {
  std::int64_t id = 0;
  double logprob =
      0;  ///< log-softmax of logits / temperature over the whole vocabulary; unscaled at temperature 0
};

/// The token at `position` of the stream `key`: the inverse CDF of the probabilities left by top-k, then
/// top-p, taken in order of id where neither chooses, else of probability (the lower id first). Depends on
/// nothing else. `logits` must have room up to a multiple of 32.
Draw draw(const float* logits, std::size_t vocab, const sampling::SamplingOptions& options, std::uint64_t key,
          std::uint64_t position);

/// The same log-prob of a given id; a temperature of 0 counts as 1.
double log_probability(const float* logits, std::size_t vocab, double temperature, std::int64_t id);

}  // namespace leap::model
