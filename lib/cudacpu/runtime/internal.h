// The parts of the runtime to each other, and the places where the checker of the checked build looks on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leap_cuda/device.h"
#include "leap_cuda/hooks.h"

namespace leap_cuda {

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxWarps = kMaxThreads / 32;
constexpr std::size_t kMaxDynamicShared = 232448;
constexpr unsigned kNamedBarriers = 16;

// --- fibers
// ------------------------------------------------------------------------------------------------------
struct Fiber {
  void* stack_pointer = nullptr;
  unsigned char* stack = nullptr;  // lowest usable address; nullptr: the worker's own stack
  std::size_t stack_bytes = 0;
};

Fiber* new_fiber();
const Fiber* running_fiber();  // its stack is what a thread has of its own
bool is_stack_guard(const void* at);
extern "C" void leap_switch(void** save_stack_pointer, void* to_stack_pointer);

// --- a block that runs
// -----------------------------------------------------------------------------------------------
enum class State : std::uint8_t { kReady, kAtBarrier, kAtWarp, kAtGrid, kDone };

struct Thread {
  uint3 index;
  unsigned number;  // x + block.x * (y + block.y * z)
  State state;
  Fiber* fiber;
  int line;  // where it waits
  int left_line, left_body;  // of the return it left by, and where that kernel's body begins; 0: by its end
};

struct Warp {
  unsigned alive;    // lanes that have not left the kernel
  unsigned waiting;  // lanes at a collective
  unsigned asking;   // of these, at __activemask
  unsigned blocked;  // lanes at a collective or a barrier
  unsigned mask[32];
  Vote operation[32];
  std::uint64_t value[32], result[32];
  int argument[32], width[32], line[32];
};

struct Touched {
  void* at;
  std::size_t bytes;
};

struct Barrier {
  unsigned arrived = 0;
  std::vector<unsigned> waiters;
};

struct Launch;

struct Block {
  Launch* launch = nullptr;
  uint3 index{};
  std::uint64_t number = 0;  // in the grid
  unsigned threads = 0;
  unsigned generation = 0;
  unsigned started = 0;     // threads, in order
  unsigned easy_given = 0;  // of these, left to next_thread()
  bool active = false;      // a thread has waited: what follows is kept up to date
  unsigned alive = 0;
  unsigned at_grid = 0;
  unsigned grid_round = 0;
  bool yielding = false;
  Barrier barriers[kNamedBarriers];
  int count = 0, all = 1, any = 0, reduced[3] = {};
  std::vector<unsigned> ready;
  std::size_t ready_from = 0;
  std::vector<unsigned> order;  // empty: 0, 1, 2, ..
  std::vector<Touched> touched;
  std::size_t static_shared = 0;
  std::vector<unsigned char> saved;  // its shared memory while another block runs here
  Thread thread[kMaxThreads];
  Warp warp[kMaxWarps];
};

struct Launch {
  Kernel* kernel = nullptr;
  const void* body = nullptr;
  dim3 grid, block;
  std::size_t dynamic_shared = 0;
  int line = 0;
  bool cooperative = false;
  unsigned threads = 0;  // a block
  std::uint64_t blocks = 0;
  std::uint64_t number = 0;  // of the launch in the process
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<std::uint64_t> grid_arrived{0};
  std::atomic<std::uint64_t> blocks_done{0};
  std::atomic<unsigned> grid_round{0};
  std::atomic<unsigned> stuck_workers{0};
  unsigned workers = 1;
};

extern thread_local Block* this_block;
inline Thread& this_thread() {
  return this_block->thread[thread_number];
}

bool run_block(Block& block);  // true when all its threads have left the kernel
void resume_from_grid(Block& block);
void run_launch(Launch& launch);

// --- the runtime's interface for candidates
// -----------------------------------------------------------------------
int last_error();
void set_error(int error);  // a cudaError_t
void count_launch();
// Of a launch that is refused: error and report; `only_empty`: nothing but a zero dimension of the grid.
void refuse_launch(int error, int line, const char* kernel, const std::string& why, bool only_empty);

struct DeviceLimits {
  int arch, multiprocessors;
  int optin_shared;  // bytes a block
};
const DeviceLimits& limits();

// --- reports
// -----------------------------------------------------------------------------------------------------
const Settings& settings();
// A report of the kernel that runs, if any. `fatal` does not return.
void note(const char* kind, int line, const std::string& message);
[[noreturn]] void fatal(const char* kind, int line, const std::string& message);
void install_fault_handler();

// --- device memory
// ----------------------------------------------------------------------------------------------
struct Allocation {
  unsigned char* at = nullptr;
  std::size_t bytes = 0;
  enum Kind { kDevice, kManaged, kPinned, kBuffer } kind = kDevice;
};
constexpr std::size_t kGuard = 256;

unsigned char* device_base();
std::size_t device_extent();    // bytes from device_base() that have ever been in use
unsigned char* managed_base();  // memory that the host may use too: managed and pinned
std::size_t managed_extent();
bool in_device_range(const void* at);  // out of the host's reach
bool in_managed_range(const void* at);
std::size_t device_bytes_used();
std::size_t device_bytes_in_all();
bool find_allocation(const void* at, Allocation* out);            // that holds this byte
void* device_allocate(std::size_t bytes, Allocation::Kind kind);  // 256-byte aligned; nullptr: no memory
bool device_free(void* at);
// Device memory is out of reach of the process but while one of these lives.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
};

// --- what the checker sees
// -------------------------------------------------------------------------------------- All are called on
// the thread of the system that runs the block. In the fast build they are nothing.
namespace check {
#ifdef LEAP_CHECKED
void launch_begin(const Launch& launch);
void launch_end(const Launch& launch);
void block_begin(const Block& block);  // shared memory is poisoned, nothing of it touched
void block_end(const Block& block);
void block_parked(const Block& block);  // another block runs on this worker until block_resumed
void block_resumed(const Block& block);
void shared_variable(void* at, std::size_t bytes, const char* name, int line);  // first met by this block
void thread_switched(const Thread& thread);  // it runs from here on; also one that begins
void thread_done(const Thread& thread);
void barrier_arrive(const Thread& thread, unsigned id, int line);
void barrier_release(const Block& block, unsigned id);  // all that arrived; those that left count too
void grid_release(const Launch& launch);
void warp_release(const Block& block, unsigned warp, unsigned mask);  // these lanes are in order
void inactive_lane(const Thread& thread, unsigned lane,
                   int line);  // a shuffle reads a lane that does not take part
void atomic(const volatile void* at, std::size_t bytes, int line);
void fence(int scope);
void allocated(void* at, std::size_t bytes, Allocation::Kind kind);
void freed(void* at, std::size_t bytes);
void copied(void* to, const void* from, std::size_t bytes);  // by the runtime; `from` nullptr: set
void begin_trial();
void end_trial();
// Memory of one worker for the checked build's shared variables, dynamic ones first.
unsigned char* shared_arena();
std::size_t shared_arena_bytes();
// A store or an index that is still to be judged: on a fault, before it is reported.
void settle();
#else
inline void launch_begin(const Launch&) {}
inline void launch_end(const Launch&) {}
inline void block_begin(const Block&) {}
inline void block_end(const Block&) {}
inline void block_parked(const Block&) {}
inline void block_resumed(const Block&) {}
inline void thread_switched(const Thread&) {}
inline void thread_done(const Thread&) {}
inline void barrier_arrive(const Thread&, unsigned, int) {}
inline void barrier_release(const Block&, unsigned) {}
inline void grid_release(const Launch&) {}
inline void warp_release(const Block&, unsigned, unsigned) {}
inline void inactive_lane(const Thread&, unsigned, int) {}
inline void fence(int) {}
inline void allocated(void*, std::size_t, Allocation::Kind) {}
inline void freed(void*, std::size_t) {}
inline void copied(void*, const void*, std::size_t) {}
inline void begin_trial() {}
inline void end_trial() {}
inline void settle() {}
#endif
}  // namespace check

}  // namespace leap_cuda
