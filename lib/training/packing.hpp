/// Actions to forward passes: sequences side by side without padding, beginnings that several share once.
#pragma once

#include <cstdint>
#include <vector>

#include "model/packed.hpp"
#include "training/actions.hpp"

namespace leap::training {

/// The actions of one forward and backward pass.
struct Pack {
  /// A completion token, and the row of the hidden states that predicts it.
  struct Target {
    std::size_t action = 0;
    std::size_t token = 0;
    std::int64_t row = 0;
  };
  model::PackedIds packed;
  std::vector<Target> targets;        ///< an action's tokens stand together
  std::vector<std::int64_t> lengths;  ///< completion lengths, in the order of `targets`
  std::int64_t unshared = 0;          ///< tokens that a pass for each action alone would compute
};

/// Packs the actions `chosen` of `actions`: at most `room` computed tokens a pass, or one action. An action's
/// last id predicts nothing that is asked for, so it is not computed.
std::vector<Pack> pack(const std::vector<Action>& actions, const std::vector<std::size_t>& chosen,
                       std::int64_t room);

}  // namespace leap::training
