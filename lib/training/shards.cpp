#include "training/shards.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace leap::training {
namespace {

// In elements. What is smaller than kSmall is sent together, what is larger than kLarge in parts.
constexpr std::int64_t kSmall = std::int64_t{1} << 16;
constexpr std::int64_t kLarge = std::int64_t{1} << 22;

}  // namespace

/// The ranges of some tensors as what is sent at a time.
class Shards::Exchange {
 public:
  explicit Exchange(int ranks) : together_(static_cast<std::size_t>(ranks)), apart_(together_.size()) {}

  void add(const at::Tensor& tensor, Range range, std::size_t owner) {
    const at::Tensor row = tensor.detach().view(-1);
    if (range.size() < kSmall) {
      if (range.size() > 0) together_[owner].push_back(row.narrow(0, range.begin, range.size()));
      return;
    }
    for (std::int64_t begin = range.begin; begin < range.end; begin += kLarge)
      apart_[owner].push_back(row.narrow(0, begin, std::min(kLarge, range.end - begin)));
  }

  /// In turns over the owners, so that all have something to send and to receive at any time.
  std::vector<Collectives::Part> parts() const {
    std::vector<Collectives::Part> out;
    for (std::size_t owner = 0; owner < together_.size(); ++owner) {
      if (!together_[owner].empty()) out.push_back({at::cat(together_[owner]), static_cast<int>(owner)});
    }
    bool more = true;
    for (std::size_t i = 0; std::exchange(more, false); ++i) {
      for (std::size_t owner = 0; owner < apart_.size(); ++owner) {
        if (i >= apart_[owner].size()) continue;
        out.push_back({apart_[owner][i], static_cast<int>(owner)});
        more = true;
      }
    }
    return out;
  }

  /// `parts` as parts() gave them, which were changed in place.
  void put_back(const std::vector<Collectives::Part>& parts) {
    auto part = parts.begin();
    for (auto& views : together_) {
      if (views.empty()) continue;
      std::int64_t begin = 0;
      for (at::Tensor& view : views) {
        view.copy_(part->tensor.narrow(0, begin, view.numel()));
        begin += view.numel();
      }
      ++part;
    }
  }

 private:
  using Views = std::vector<at::Tensor>;
  std::vector<Views> together_, apart_;  // by owner
};

Shards::Shards(const std::vector<std::int64_t>& sizes, const Ranks& ranks) : ranks_(ranks), starts_{0} {
  for (const std::int64_t size : sizes) starts_.push_back(starts_.back() + size);
  stretch_ = std::max<std::int64_t>(1, (starts_.back() + ranks.size() - 1) / ranks.size());
}

Shards::Range Shards::range(int rank, std::size_t index) const {
  const std::int64_t start = starts_[index], end = starts_[index + 1];
  const auto inside = [&](std::int64_t place) { return std::clamp(place, start, end) - start; };
  return {inside(rank * stretch_), inside((rank + 1) * stretch_)};
}

void Shards::exchange(const std::vector<at::Tensor>& tensors,
                      void (Ranks::*move)(std::vector<Collectives::Part>) const) const {
  if (ranks_.alone()) return;
  Exchange all(ranks_.size());
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      all.add(tensors[i], range(rank, i), static_cast<std::size_t>(rank));
  }
  const auto parts = all.parts();
  (ranks_.*move)(parts);
  all.put_back(parts);
}

void Shards::reduce(const std::vector<at::Tensor>& gradients) const {
  exchange(gradients, &Ranks::reduce);
}

void Shards::broadcast(const std::vector<at::Tensor>& weights) const {
  exchange(weights, &Ranks::broadcast);
}

}  // namespace leap::training
