/// What a run trains: all weights of a model, or a LoRA adapter over a model that stays as it is.
///
/// Theory. An adapted layer computes y = W x + s B A x with A [rank, in] and B [out, rank]; s is alpha / rank
/// (alpha / sqrt(rank) where the adapter says use_rslora). W is never changed and nothing is merged, so the
/// base does not drift. Adapters are PEFT's: adapter_config.json and adapter_model.safetensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/decoder.hpp"
#include "training/options.hpp"

namespace leap::training {

class Policy {
 public:
  using Parameters = std::vector<std::pair<std::string, at::Tensor>>;

  /// All weights of the model in `dir`, in float32. Throws Error.
  static std::unique_ptr<Policy> whole(const std::string& dir, at::Device device);
  /// The adapter in `adapter_dir` over the model in `base_dir`. Throws Error.
  static std::unique_ptr<Policy> adapter(const std::string& base_dir, const std::string& adapter_dir,
                                         at::Device device);
  /// A new adapter: A uniform in +-1/sqrt(in) as PEFT draws it, by (seed, name, place) alone; B zero. Throws
  /// UsageError when no layer of the model is among the targets.
  static std::unique_ptr<Policy> new_adapter(const std::string& base_dir, const LoraOptions& lora,
                                             std::int64_t seed, at::Device device);

  const model::Decoder& decoder() const { return *decoder_; }
  /// What is trained, by its name in the checkpoint: fp32 leaves that require a gradient.
  const Parameters& trained() const { return trained_; }
  /// For each of them name, type and shape in the checkpoint.
  const std::vector<model::TensorInfo>& stored() const { return stored_; }
  /// The model without the adapter, sharing its weights; null where there is none.
  std::shared_ptr<const model::Decoder> base() const;

  /// Of a sample of the trained weights: differs where processes have not read the same.
  std::uint64_t digest() const;

  /// Writes the weights into a checkpoint's directory. `source`: where the files beside them come from.
  void write(const std::string& dir, const std::string& source) const;

 private:
  Policy() = default;
  void add_pair(const std::string& weight, at::Tensor a, at::Tensor b, double scale,
                const std::string& a_type, const std::string& b_type);
  void train_all();

  std::unique_ptr<model::Decoder> decoder_;
  Parameters trained_;
  std::vector<model::TensorInfo> stored_;
  bool is_adapter_ = false;
  std::string config_;  ///< adapter_config.json of an adapter
};

/// Is there an adapter in `dir`?
bool is_adapter(const std::string& dir);

/// Does a checkpoint's directory own a file of this name?
bool is_policy_file(const std::string& name);

}  // namespace leap::training
