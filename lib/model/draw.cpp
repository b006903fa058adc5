#include "model/draw.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "model/kernels.hpp"

namespace leap::model {
namespace {

constexpr std::size_t kBlock = 1024;  // a multiple of kPanel

/// exp((logit - largest) / temperature) of a row, with sums by blocks.
struct Weights {
  std::vector<float> values;
  std::vector<double> blocks;
  double max = 0, total = 0, scale = 1;

  Weights(const float* logits, std::size_t vocab, double temperature) {
    scale = 1.0 / temperature;
    values.assign(logits, logits + vocab);
    values.resize((vocab + kPanel - 1) / kPanel * kPanel);
    const float top = kernels().maximum(logits, vocab);
    max = top;
    for (std::size_t from = 0; from < vocab; from += kBlock) {
      const std::size_t count = std::min(kBlock, vocab - from);
      blocks.push_back(kernels().exponentials(&values[from], count, top, static_cast<float>(scale)));
      total += blocks.back();
    }
  }

  double logprob(float logit) const { return (static_cast<double>(logit) - max) * scale - std::log(total); }
};

/// The first id whose cumulative weight exceeds `target`, by block and then within it.
std::size_t invert(const Weights& weights, std::size_t vocab, double target) {
  std::size_t block = 0;
  while (block + 1 < weights.blocks.size() && target >= weights.blocks[block])
    target -= weights.blocks[block++];
  std::size_t last = block * kBlock;
  double sum = 0;
  for (std::size_t id = last; id < std::min((block + 1) * kBlock, vocab); ++id) {
    if (weights.values[id] <= 0) continue;
    last = id;
    sum += weights.values[id];
    if (sum > target) break;
  }
  return last;
}

/// The ids that top-k and then top-p leave, most probable first.
std::vector<std::size_t> choose(const Weights& weights, std::size_t vocab,
                                const sampling::SamplingOptions& options) {
  const std::vector<float>& w = weights.values;
  const bool limited = options.top_k > 0 && static_cast<std::size_t>(options.top_k) < vocab;
  // All tokens below this weight together weigh less than 1 - top_p: the cut comes before them.
  const double floor = limited ? 0 : weights.total * (1 - options.top_p) / static_cast<double>(vocab);
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < vocab; ++id) {
    if (w[id] > 0 && w[id] >= floor) ids.push_back(id);
  }
  auto before = [&](std::size_t a, std::size_t b) { return w[a] != w[b] ? w[a] > w[b] : a < b; };
  if (limited && static_cast<std::size_t>(options.top_k) < ids.size()) {
    std::nth_element(ids.begin(), ids.begin() + options.top_k, ids.end(), before);
    ids.resize(static_cast<std::size_t>(options.top_k));
  }
  std::sort(ids.begin(), ids.end(), before);
  if (options.top_p < 1) {
    double total = limited ? 0 : weights.total, sum = 0;
    if (limited) {
      for (std::size_t id : ids) total += w[id];
    }
    std::size_t kept = 0;
    while (kept < ids.size() && (kept == 0 || sum < options.top_p * total)) sum += w[ids[kept++]];
    ids.resize(kept);
  }
  return ids;
}

}  // namespace

double log_probability(const float* logits, std::size_t vocab, double temperature, std::int64_t id) {
  return Weights(logits, vocab, temperature > 0 ? temperature : 1.0).logprob(logits[id]);
}

Draw draw(const float* logits, std::size_t vocab, const sampling::SamplingOptions& options, std::uint64_t key,
          std::uint64_t position) {
  const bool greedy = options.temperature <= 0;
  const Weights weights(logits, vocab, greedy ? 1.0 : options.temperature);
  std::size_t id = 0;
  if (greedy) {
    id =
        static_cast<std::size_t>(std::find(logits, logits + vocab, static_cast<float>(weights.max)) - logits);
  } else if (options.top_k <= 0 && options.top_p >= 1) {
    id = invert(weights, vocab, uniform(key, position) * weights.total);
  } else {
    const std::vector<std::size_t> ids = choose(weights, vocab, options);
    double total = 0, sum = 0;
    for (std::size_t i : ids) total += weights.values[i];
    const double target = uniform(key, position) * total;
    id = ids.back();
    for (std::size_t i : ids) {
      sum += weights.values[i];
      if (sum > target) {
        id = i;
        break;
      }
    }
  }
  return {static_cast<std::int64_t>(id), weights.logprob(logits[id])};
}

}  // namespace leap::model
