/// Which tensors a model of some config has.
#pragma once

#include <vector>

#include "model/config.hpp"
#include "model/safetensors.hpp"

namespace leap::model {

/// Names (Hugging Face's) and shapes in the order of the forward pass, without types; a tied output layer is
/// not listed.
std::vector<TensorInfo> parameter_layout(const ModelConfig& config);

/// Throws Error unless `reader` has exactly these tensors. Tables that can be computed and the second copy of
/// a tied output layer may be there; anything else without a place would silently change what the model
/// computes.
void check_layout(const ModelConfig& config, const SafetensorsReader& reader);

}  // namespace leap::model
