// What memory a kernel may touch, and the shadow of its words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "check_cells.h"

namespace leap_cuda {
namespace check {

// For each 8 bytes: how many of them, from the first, may be accessed.
inline bool addressable(const std::uint8_t* valid, std::size_t offset, std::size_t bytes) {
  std::size_t at = offset;
  const std::size_t end = offset + bytes;
  while (at < end) {
    const std::size_t in_group = (at & ~std::size_t{7}) + 8 < end ? 8 : end - (at & ~std::size_t{7});
    if (valid[at >> 3] < in_group) return false;
    at = (at & ~std::size_t{7}) + 8;
  }
  return true;
}
void set_addressable(std::uint8_t* valid, std::size_t offset, std::size_t bytes, bool on);

// Zeroed pages that cost nothing until they are touched.
void* reserve(std::size_t bytes);

// Device memory, in pieces that appear as they are used.
class DeviceShadow {
 public:
  static constexpr unsigned kShift = 22;
  struct Piece {
    std::uint8_t* valid;
    Cell* cells;
  };
  static constexpr std::size_t kPieceBytes = std::size_t{1} << kShift;
  // nullptr: nothing of it was ever allocated.
  const Piece* piece(std::size_t offset) const {
    return offset < span_ && pieces_[offset >> kShift].valid ? &pieces_[offset >> kShift] : nullptr;
  }
  void set(std::size_t offset, std::size_t bytes, bool on);

 private:
  std::vector<Piece> pieces_;
  std::size_t span_ = 0;
};

// The program's writable data: device variables.
struct DataShadow {
  std::uintptr_t from = 0;
  std::size_t bytes = 0;
  Cell* cells = nullptr;
  struct Variable {
    std::size_t bytes;
    std::string name;
    bool managed;
  };
  std::map<std::uintptr_t, Variable> variables;
  void find();                                           // once, before the first use
  const Variable* variable_at(std::uintptr_t address);   // nullptr: none there
  std::uintptr_t beginning() const { return last_at_; }  // of the one found last

 private:
  const Variable* last_ = nullptr;
  std::uintptr_t last_at_ = 0;
  std::size_t last_bytes_ = 0;
};

// Variables that the translation has told of; filled before main.
struct ToldVariable {
  const char* name;
  const void* at;
  std::size_t bytes;
  bool managed;
};
std::vector<ToldVariable>& told_variables();

struct SharedVariable {
  std::size_t offset, bytes;
  std::string name;
  int line;
};

}  // namespace check
}  // namespace leap_cuda
