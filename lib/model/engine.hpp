/// What local sampling needs of a model: sequences that grow, share their beginnings, and are computed
/// together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "model/workers.hpp"

namespace leap::model {

class Engine {
 public:
  using Sequence = std::size_t;
  enum class Want { kNothing, kLast, kAll };  ///< of which ids of a chunk the logits are wanted

  /// The next ids of one sequence.
  struct Chunk {
    Sequence sequence = 0;
    std::vector<std::int64_t> ids;
    Want want = Want::kLast;
  };

  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual const ModelConfig& config() const = 0;

  virtual Sequence open() = 0;  ///< an empty sequence
  /// A sequence with the same first `length` ids; what was computed for them is shared or copied.
  virtual Sequence branch(Sequence sequence, std::size_t length) = 0;
  virtual void close(Sequence sequence) = 0;

  /// Appends each chunk to its sequence (no sequence twice) and writes the wanted logits into `logits`, a row
  /// of logits_stride() floats each, in the order of chunks and ids; the first vocab_size of a row count.
  virtual void forward(const std::vector<Chunk>& chunks, std::vector<float>& logits) = 0;
  virtual std::size_t logits_stride() const = 0;

  /// Memory that keys and values of one id take.
  virtual std::size_t bytes_per_id() const = 0;
};

struct EngineOptions {
  std::string model_dir;
  std::string adapter_dir;        ///< a PEFT LoRA adapter; empty: none
  std::string dtype = "float32";  ///< or bfloat16
  std::string device = "auto";    ///< or cpu, cuda
  int threads = 0;                ///< LibTorch's; 0: its default
};

/// The plain C++ engine for float32 on a CPU, LibTorch's for everything else. Throws Error and UsageError.
std::unique_ptr<Engine> make_engine(const EngineOptions& options, Workers& workers);

std::unique_ptr<Engine> make_cpu_engine(const std::string& model_dir, const std::string& adapter_dir,
                                        Workers& workers);

}  // namespace leap::model
