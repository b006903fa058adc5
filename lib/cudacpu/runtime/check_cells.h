// Races: who read and wrote each word of memory last, and whether the next access comes after that.
//
// An atomic access conflicts with plain stores only. A store that changes nothing conflicts only with those
// that do; its thread is remembered as a further writer of that value. Many readers are kept as the lanes of
// one warp, the warps of one block, or as "several blocks"; where that is not exact and the writer has
// synchronised by atomics, no race is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "check_order.h"

namespace leap_cuda {
namespace check {

enum class Conflict : std::uint8_t {
  kNone,
  kReadAfterWrite,
  kWriteAfterWrite,
  kWriteAfterRead,
  kAtomicAfterWrite,
  kWriteAfterAtomic
};

struct Race {
  Conflict conflict = Conflict::kNone;
  std::uint32_t other = 0;  // thread of the earlier access, where known
  bool other_known = false;
};

enum class Readers : std::uint8_t { kLanes, kListed, kWarps, kBlocks };

struct Cell {
  std::uint32_t
      writer;  // of the last plain store that changed the word; split cells: index of their bytes' cells
  Stamp written;
  std::uint32_t reader;  // warp, block or index of the list, as `readers` says
  Stamp read;            // newest
  std::uint32_t lanes;   // lanes of the warp or warps of the block
  std::uint32_t atomic_by;
  Stamp atomic;
  Readers readers;
  bool split;            // bytes are kept apart
  std::uint8_t writers;  // kOne..
  bool released;         // something was released by an atomic here
};
enum : std::uint8_t {
  kOne,
  kSeveral,        // threads of one block stored this value
  kSeveralBlocks,  // of several blocks
  kUnchanged = 4   // flag: the store changed nothing, so that reading is no conflict
};
static_assert(sizeof(Cell) == 32, "shadow of a word");

class Cells {
 public:
  explicit Cells(Order* order) : order_(order) {}
  void begin_launch();

  // `from`: stamps before it count as never. One call a word, or a byte of a split word.
  Race read(const ThreadOrder& thread, Cell* cell, Stamp from);
  Race atomic(const ThreadOrder& thread, Cell* cell, Stamp from);
  // A store after it was done. `shared`: no other block can reach the word.
  Race write(const ThreadOrder& thread, Cell* cell, Stamp from, bool changed, bool shared);

  // The four cells of a word's bytes. Splits the cell when it is not.
  Cell* bytes_of(Cell* cell, Stamp from);
  // Back to one cell when its bytes were not used since `from`.
  bool unsplit(Cell* cell, Stamp from);

 private:
  void add_reader(const ThreadOrder& thread, Cell* cell, Stamp from);
  bool readers_before(const ThreadOrder& thread, const Cell& cell, bool others_only, Race* race) const;
  static std::uint64_t further_writer(const Cell* cell, std::uint32_t id) {
    return (reinterpret_cast<std::uintptr_t>(cell) >> 5) * 0x9e3779b97f4a7c15u ^ id;
  }

  struct Reading {
    std::uint32_t id;
    Stamp at;
  };
  Order* order_;
  std::vector<std::vector<Reading>> lists_;
  std::unordered_set<std::uint64_t> further_writers_;
  std::vector<Cell*> split_chunks_;
  std::uint32_t splits_ = 0;
  std::vector<std::uint32_t> free_splits_;
};

}  // namespace check
}  // namespace leap_cuda
