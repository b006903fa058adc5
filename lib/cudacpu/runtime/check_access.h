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

  void finish_store();
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
  std::size_t device_bytes_ = 0;
  std::uintptr_t thread_local_from_ = 0, thread_local_to_ = 0;
};

extern Checker* checker;  // made when the first launch begins
// On the thread of the system that runs blocks, else nullptr.
extern thread_local Checker* here;

}  // namespace check
}  // namespace leap_cuda
