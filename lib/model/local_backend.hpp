/// Sampling from a model in this process: sequences of many requests are decoded together and leave as they
/// end.
#pragma once

#include <memory>

#include "sampling/local_plugin.hpp"

namespace leap::model {

/// Throws Error and UsageError.
std::unique_ptr<sampling::Backend> make_local_backend(const sampling::LocalOptions& options);

}  // namespace leap::model
