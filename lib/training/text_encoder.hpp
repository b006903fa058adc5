/// Supervised examples without ids: their prompt and completion through the model's tokenizer and chat
/// template.
#pragma once

#include <memory>
#include <string>

#include "model/config.hpp"
#include "training/actions.hpp"

namespace leap::training {

/// Reads `dir`'s tokenizer at the first text that needs it.
std::unique_ptr<TextEncoder> make_text_encoder(const std::string& dir, const model::ModelConfig& config);

}  // namespace leap::training
