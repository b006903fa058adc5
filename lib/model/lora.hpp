/// PEFT LoRA adapters on disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/safetensors.hpp"

namespace leap::model {

/// y += scale * (x a^T) b^T for the linear layer whose weight parameter it is filed under.
struct LoraWeights {
  std::int64_t rank = 0, in = 0, out = 0;
  std::vector<float> a;  ///< [rank, in]
  std::vector<float> b;  ///< [out, rank]
  double scale = 1.0;
  std::string a_type, b_type;  ///< as stored: "F32", ..
};

/// Before a module's name in an adapter's tensors.
inline constexpr const char* kLoraPrefix = "base_model.model.";

/// By the base model's parameter names. Throws Error when the adapter holds what cannot be applied exactly.
std::map<std::string, LoraWeights> read_lora(const std::string& adapter_dir);

}  // namespace leap::model
