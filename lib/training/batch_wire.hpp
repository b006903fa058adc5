/// Actions as bytes, on their way from the rank that reads the input to the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "training/actions.hpp"

namespace leap::training {

/// For processes of the same build on machines of the same byte order.
std::string to_bytes(const std::vector<Action>& actions);
std::vector<Action> from_bytes(std::string_view bytes);

}  // namespace leap::training
