// The checker's state and what it does with one access. The state belongs to the one worker that runs blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check_cells.h"
#include "check_memory.h"
#include "internal.h"

namespace leap_cuda {
namespace check {

enum class Access : std::uint8_t { kRead, kWrite, kVolatileWrite, kAtomic, kAtomicRelease };

// Where the instrumentation called from.
struct Caller {
  const void* address;
  const void* frame;
  int line;  // 0: by the address
};
#define LEAP_CALLER (::leap_cuda::check::Caller{__builtin_return_address(0), __builtin_frame_address(0), 0})
int line_of(Caller caller);

// What the checker keeps of a block beside the order of its threads.
struct BlockWatch {
  BlockOrder order;
  const Block* block = nullptr;
  Cell* shared = nullptr;  // of the arena
  struct Walk {
    std::uint64_t visited = 0;  // barriers, by index of their lines
    bool done = false;
  };
  Walk walk[kMaxThreads];
  int barrier_line = 0, other_barrier_line = 0;  // of those that wait
  unsigned done = 0;
};

class Checker {
 public:
  static constexpr std::size_t kArena = 8 << 20;

  Checker();
  // The usual cases of an access of whole words; false: access() must look.
  template <std::size_t kBytes>
  bool quick_read(void* at);
  template <std::size_t kBytes>
  bool quick_write(void* at, Caller caller);
  void access(void* at, std::size_t bytes, Access kind, Caller caller);
  void host_access(void* at, std::size_t bytes, bool write, Caller caller);
  // The store that was announced is done: did it change anything?
  void settle() {
    if (store_.active) finish_store();
    if (index_.active) finish_index();
  }
  void bad_index(int line, std::int64_t index, const char* array, Caller caller);
  void misaligned(int line, Caller caller, const char* type);
  void report(const char* kind, int line, const std::string& message, Caller caller, bool is_fatal);
  std::string describe_thread(std::uint32_t id) const;

  ThreadOrder* running = nullptr;
  BlockWatch* block = nullptr;
  const Launch* launch = nullptr;
  Order order;
  Cells cells{&order};
  DeviceShadow device;
  DataShadow data;
  unsigned char* arena = nullptr;
  std::uint8_t* arena_valid = nullptr;
  std::vector<SharedVariable> shared;                                  // of this launch, by offset
  std::map<std::uintptr_t, std::pair<std::size_t, bool>> allocations;  // bytes, still there
  std::unordered_map<const Block*, std::unique_ptr<BlockWatch>> watches;
  std::vector<Cell*> free_shadows;
  std::vector<int> barrier_lines;
  std::set<std::pair<const void*, int>> reported;

 private:
  enum class Where : std::uint8_t { kDevice, kShared, kData };
  struct Store {
    bool active = false, kept = false, whole = false;
    Where where;
    ThreadOrder* thread;
    unsigned char* at;
    std::size_t bytes;
    Cell* cells;
    Caller caller;
    unsigned char old[64];
  };
  // An index beyond its dimension: no fault when it lands in a further row of the same array.
  struct Index {
    bool active = false;
    int line;
    std::int64_t index;
    std::size_t extent;
    Caller caller;
  };

  // Where `kBytes` whole words lie that may be accessed.
  template <std::size_t kBytes>
  Cell* locate(void* at, Where* where) const;
  static bool quick_read_word(const ThreadOrder& thread, Cell* cell, Where where);
  // The changed word has nobody else's access that is not before the thread's.
  static bool quick_write_word(const ThreadOrder& thread, Cell* cell, Where where);
  // A copy announces its store before its load, and is done after both.
  bool may_be_copy(const void* at, std::size_t bytes) const {
    return store_.active && bytes == store_.bytes && !store_.kept && at != store_.at;
  }
  void settle_before(Access kind, const void* at, std::size_t bytes) {
    if (kind == Access::kRead && may_be_copy(at, bytes))
      store_.kept = true;
    else
      finish_store();
  }
  void finish_store();
  void finish_words();
  void finish_index();
  void settle_index(const unsigned char* at, std::size_t bytes, Where where, Caller caller);
  void on_words(unsigned char* at, std::size_t bytes, Cell* words, Where where, Access kind, Caller caller);
  void announce_store(unsigned char* at, std::size_t bytes, Cell* words, Where where, Caller caller);
  void found(const Race& race, const ThreadOrder& thread, const void* at, Where where, Caller caller);
  [[noreturn]] void outside(void* at, std::size_t bytes, Access kind, Where where, Caller caller);
  void elsewhere(void* at, std::size_t bytes, Access kind, Caller caller);
  std::string name_of(const void* at, Where where) const;

  Store store_;
  Index index_;
  std::uintptr_t device_from_ = 0;
  std::uintptr_t thread_local_from_ = 0;
  std::size_t thread_local_bytes_ = 0;
};

template <std::size_t kBytes>
inline Cell* Checker::locate(void* at, Where* where) const {
  static_assert(kBytes % 4 == 0, "whole words");
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (address & 3) return nullptr;
  std::size_t offset = address - device_from_;
  const std::uint8_t* valid;
  Cell* words;
  if (const DeviceShadow::Piece* const piece = device.piece(offset)) {
    offset &= DeviceShadow::kPieceBytes - 1;
    if (kBytes > 4 && offset + kBytes > DeviceShadow::kPieceBytes) return nullptr;
    valid = piece->valid;
    words = piece->cells;
    *where = Where::kDevice;
  } else {
    offset = address - reinterpret_cast<std::uintptr_t>(arena);
    if (offset >= kArena - 16) return nullptr;
    valid = arena_valid;
    words = block->shared;
    *where = Where::kShared;
  }
  if (kBytes <= 8 ? (offset & 7) + kBytes <= valid[offset >> 3] : addressable(valid, offset, kBytes))
    return words + (offset >> 2);
  return nullptr;
}

inline bool Checker::quick_read_word(const ThreadOrder& thread, Cell* cell, Where where) {
  const bool is_shared = where == Where::kShared;
  const Stamp seen = is_shared ? thread.block_seen : thread.grid_seen;
  if (cell->split || cell->released || (cell->written >= seen && cell->writer != thread.id) ||
      (is_shared && cell->written < thread.begun))
    return false;
  if (cell->read < seen) {
    cell->readers = Readers::kLanes;
    cell->reader = thread.warp;
    cell->read = thread.now;
    cell->lanes = thread.lane_bit;
    return true;
  }
  switch (cell->readers) {
    case Readers::kLanes:
      if (cell->read != thread.now || cell->reader != thread.warp) return false;
      cell->lanes |= thread.lane_bit;
      return true;
    case Readers::kWarps:
      if (cell->reader != thread.warp >> 5 || cell->read < thread.block_seen) return false;
      cell->lanes |= 1u << (thread.warp & 31);
      break;
    case Readers::kBlocks:
      break;
    case Readers::kListed:
      return false;
  }
  if (cell->read < thread.now) cell->read = thread.now;
  return true;
}

inline bool Checker::quick_write_word(const ThreadOrder& thread, Cell* cell, Where where) {
  const Stamp seen = where == Where::kShared ? thread.block_seen : thread.grid_seen;
  if (cell->split || (cell->written >= seen && (cell->writer != thread.id || cell->writers != kOne)) ||
      cell->atomic >= seen ||
      (cell->read >= seen && (cell->readers != Readers::kLanes || cell->reader != thread.warp ||
                              (cell->lanes & ~thread.lane_bit) != 0)))
    return false;
  cell->writer = thread.id;
  cell->written = thread.now;
  cell->writers = kOne;
  cell->read = cell->atomic = 0;
  return true;
}

template <std::size_t kBytes>
inline bool Checker::quick_read(void* at) {
  const bool keeps = may_be_copy(at, kBytes);
  if (store_.active) settle_before(Access::kRead, at, kBytes);
  const auto quick = [&] {
    Where where;
    Cell* const words = locate<kBytes>(at, &where);
    if (!words) return reinterpret_cast<std::uintptr_t>(at) - thread_local_from_ < thread_local_bytes_;
    if (index_.active) return false;
    for (std::size_t i = 0; i < kBytes / 4; ++i)
      if (!quick_read_word(*running, words + i, where)) return false;
    return true;
  };
  if (quick()) return true;
  if (keeps) store_.kept = false;  // access() decides again
  return false;
}

template <std::size_t kBytes>
inline bool Checker::quick_write(void* at, Caller caller) {
  if (store_.active) finish_store();
  Where where;
  Cell* const words = locate<kBytes>(at, &where);
  if (!words || index_.active) return false;
  store_.active = true;
  store_.kept = store_.whole = false;
  store_.where = where;
  store_.thread = running;
  store_.at = static_cast<unsigned char*>(at);
  store_.bytes = kBytes;
  store_.cells = words;
  store_.caller = caller;
  __builtin_memcpy(store_.old, at, kBytes);
  return true;
}

inline void Checker::finish_store() {
  store_.active = false;
  std::uint32_t old, now;
  __builtin_memcpy(&old, store_.old, 4);
  if (store_.bytes == 4 && (reinterpret_cast<std::uintptr_t>(store_.at) & 3) == 0) {
    __builtin_memcpy(&now, store_.at, 4);
    if ((old != now || (store_.where == Where::kShared && store_.cells->written < store_.thread->begun)) &&
        quick_write_word(*store_.thread, store_.cells, store_.where))
      return;
  }
  finish_words();
}

extern Checker* checker;  // made when the first launch begins
// On the thread of the system that runs blocks, else nullptr.
extern thread_local Checker* here;

}  // namespace check
}  // namespace leap_cuda
