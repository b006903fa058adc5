/// Safetensors files: a memory-mapped reader that believes nothing unchecked, and a streaming writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace leap::model {

/// Name, type and shape of a tensor; `dtype` as the format spells it: "F32", "F16", "BF16", ..
struct TensorInfo {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;

  std::int64_t elements() const;
};

/// A tensor of an open file, row-major, little-endian. `data` lives as long as its reader.
struct TensorView : TensorInfo {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Bytes an element of `dtype` takes; 0 for an unknown name.
std::size_t dtype_size(const std::string& dtype);

/// One or more mapped files, each header checked: lengths, shapes, no overlap, no hole.
class SafetensorsReader {
 public:
  /// `path`: a file, or a model directory with model.safetensors or model.safetensors.index.json and its
  /// shards. Throws Error.
  explicit SafetensorsReader(const std::string& path);

  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(const std::string& name) const;
  const TensorView& at(const std::string& name) const;  ///< Throws Error when absent.

 private:
  void add_file(const std::string& path);

  std::string path_;
  std::vector<std::shared_ptr<void>> maps_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// Elements [first, first + count) of an F32, F16 or BF16 tensor, widened exactly. Throws Error on other
/// types.
void widen(const TensorView& tensor, std::int64_t first, std::int64_t count, float* out);

/// Writes one file; tensors may come in any order. The file is whole once close() has returned; replacing an
/// older one atomically is the caller's business.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::vector<TensorInfo> tensors);
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;
  ~SafetensorsWriter();

  void write(const std::string& name, const void* data, std::size_t bytes);
  /// Syncs to disk. Throws Error when a tensor is missing or the disk is full.
  void close();

 private:
  struct Place {
    std::size_t offset = 0, bytes = 0;
    bool written = false;
  };
  std::string path_;
  int fd_ = -1;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace leap::model
