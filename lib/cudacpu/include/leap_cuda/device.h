// What device code sees of its thread: indices, barriers, warp collectives, shared memory; and how a kernel
// is launched.
#pragma once

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "leap_cuda/vectors.h"

// Constant from one thread's point of view; the runtime sets them when it changes threads. A fiber never
// leaves its thread of the system.
extern __thread const uint3 threadIdx __asm__("leap_thread_index");
extern __thread const uint3 blockIdx __asm__("leap_block_index");
extern __thread const dim3 blockDim __asm__("leap_block_size");
extern __thread const dim3 gridDim __asm__("leap_grid_size");
constexpr int warpSize = 32;

typedef struct CUstream_st* cudaStream_t;

#ifdef LEAP_CHECKED
#define LEAP_UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define LEAP_UNCHECKED
#endif

namespace leap_cuda {

enum class Vote : int {
  kSync,
  kShuffle,
  kUp,
  kDown,
  kXor,
  kBallot,
  kAll,
  kAny,
  kMatchAny,
  kMatchAll,
  kActive,
  kAdd,
  kMin,
  kMax,
  kAnd,
  kOr,
  kExclusiveOr
};

// --- entry points of the runtime
// -------------------------------------------------------------------------------------
void barrier(int line);
int barrier_reduce(int line, int predicate, int operation);  // 0 count, 1 and, 2 or
void named_barrier(int line, unsigned id, unsigned threads, bool wait);
void grid_barrier(int line);
// One value a lane; every lane gets its own result. `argument`: source lane, distance or lane mask.
std::uint64_t warp(int line, unsigned mask, Vote operation, std::uint64_t value, int argument, int width);
// Brings a warp together; what all its lanes said, until the next time.
const std::uint64_t* warp_values(int line, std::uint64_t mine);
void fence(int scope);  // 0 block, 1 device, 2 system
// A kernel's `return;`: at this line, of the body that begins at that one.
#ifdef LEAP_CHECKED
void leave(int line, int body);
#else
inline void leave(int, int) {}
#endif
void yield();  // lets others run: in loops that wait
[[noreturn]] void trap(int line);
[[noreturn]] void uncovered(const char* feature);
void* dynamic_shared();
unsigned dynamic_shared_bytes();
void touch_shared(void* at, std::size_t bytes, const char* name, int line);
void* checked_shared(std::size_t bytes, std::size_t alignment, const char* name, int line);
void atomic_access(const volatile void* at, std::size_t bytes, int line);
unsigned lane();
unsigned thread_rank();
bool in_kernel();
bool next_thread_slowly();
void* heap_malloc(std::size_t bytes);  // the device's heap in a kernel, else the host's
void heap_free(void* at);
struct Heap {};

// Threads of a row that can be started without ado, and the number of the running one.
extern __thread unsigned easy_threads __asm__("leap_easy_threads");
extern __thread unsigned thread_number __asm__("leap_thread_number");
extern __thread unsigned block_generation __asm__("leap_block_generation");
extern __thread uint3 writable_thread_index __asm__("leap_thread_index");

// A turn of a loop that may wait for other threads: now and then they get to run.
extern __thread unsigned loop_turns __asm__("leap_loop_turns");
inline void turn() {
  if (++loop_turns % 1024 == 0) yield();
}

inline bool next_thread() {
  if (easy_threads == 0) return next_thread_slowly();
  --easy_threads;
  ++thread_number;
  ++writable_thread_index.x;
  return true;
}

// --- launches
// ----------------------------------------------------------------------------------------------------------
struct Kernel {
  const char* name;
  int line;
  unsigned max_threads;           // of __launch_bounds__, 0: none
  void (*run)(const void* body);  // threads of a block, as many as it can
  std::size_t body_bytes;         // its arguments
  int max_dynamic_shared = -1;    // set by cudaFuncSetAttribute
};

void push_configuration(dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = nullptr,
                        int line = __builtin_LINE());
void launch(Kernel& kernel, const void* body);
void begin_describing();
Kernel* end_describing();

struct Bounds {
  unsigned threads = 0;
  constexpr Bounds() = default;
  constexpr Bounds(unsigned t, unsigned = 0, unsigned = 0) : threads(t) {}
};

// Arguments are a thread's own; with the body in here they need not be in memory.
template <class F>
__attribute__((noinline)) void run_thread(const void* body) {
  F mine(*static_cast<const F*>(body));
  mine();
}

template <class F>
LEAP_UNCHECKED void run_threads(const void* body) {
  do run_thread<F>(body);
  while (next_thread());
}

template <class F>
LEAP_UNCHECKED void launch(const char* name, int line, Bounds bounds, const F& body) {
  static Kernel kernel{name, line, bounds.threads, &run_threads<F>, sizeof(F)};
  launch(kernel, &body);
}

template <class P>
struct Blank {
  alignas(P) unsigned char bytes[sizeof(P)] = {};
  P& value() { return *reinterpret_cast<P*>(bytes); }
};

// Calls `stub` so that it only says which kernel it is.
template <class... P>
Kernel* describe(void (*stub)(P...)) {
  begin_describing();
  stub(Blank<std::remove_cv_t<P>>().value()...);
  return end_describing();
}

// A kernel as a pointer without type, that cudaLaunchKernel can call.
using Untyped = void (*)(void* stub, void** arguments);
void* remember(void* stub, Untyped call, Kernel* (*describe)(void*));
template <class... P, std::size_t... I>
void call_with(void (*stub)(P...), void** arguments, std::index_sequence<I...>) {
  stub(*static_cast<std::remove_cv_t<P>*>(arguments[I])...);
}
template <class... P>
void* kernel_handle(void (*stub)(P...)) {
  return remember(
      reinterpret_cast<void*>(stub),
      [](void* s, void** arguments) {
        call_with(reinterpret_cast<void (*)(P...)>(s), arguments, std::index_sequence_for<P...>());
      },
      [](void* s) { return describe(reinterpret_cast<void (*)(P...)>(s)); });
}

template <class T>
using Itself = T;

template <class T>
inline std::uint64_t to_bits(const T& value) {
  static_assert(sizeof(T) <= 8, "a warp collective moves at most 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
inline T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}

}  // namespace leap_cuda

// --- shared memory: what the translation makes of __shared__
// --------------------------------------------------------
#ifdef LEAP_CHECKED
#define LEAP_SHARED(NAME, ...)                                                                         \
  struct leap_shared_##NAME {                                                                          \
    __VA_ARGS__;                                                                                       \
  };                                                                                                   \
  static thread_local auto& NAME =                                                                     \
      static_cast<leap_shared_##NAME*>(::leap_cuda::checked_shared(sizeof(leap_shared_##NAME),         \
                                                                   alignof(leap_shared_##NAME), #NAME, \
                                                                   __LINE__))                          \
          ->NAME;                                                                                      \
  LEAP_TOUCH(NAME)
#else
#define LEAP_SHARED(NAME, ...)     \
  static thread_local __VA_ARGS__; \
  LEAP_TOUCH(NAME)
#endif
// A reference with storage of its own: lambdas do not capture it.
#define LEAP_DYNAMIC_SHARED(NAME, EXTENTS, ...) \
  static thread_local auto& NAME =              \
      *static_cast<::leap_cuda::Itself<__VA_ARGS__>(*) EXTENTS>(::leap_cuda::dynamic_shared())
#define LEAP_TOUCH(NAME)                                                                              \
  static_assert(sizeof(NAME) <= 49152, "uses too much shared data: more than 0xc000 bytes (48 KiB)"); \
  {                                                                                                   \
    static __thread unsigned leap_seen;                                                               \
    if (__builtin_expect(leap_seen != ::leap_cuda::block_generation, 0)) {                            \
      leap_seen = ::leap_cuda::block_generation;                                                      \
      ::leap_cuda::touch_shared((void*)&NAME, sizeof(NAME), #NAME, __LINE__);                         \
    }                                                                                                 \
  }                                                                                                   \
  static_assert(true, "")

// --- device variables: noted for the checker
#ifdef LEAP_CHECKED
namespace leap_cuda {
struct DeviceVariable {
  DeviceVariable(const char* name, const void* at, std::size_t bytes, bool managed);
};
// What memcpy and its like do in device code.
void copy_access(void* to, const void* from, std::size_t bytes);
}  // namespace leap_cuda
#define LEAP_DEVICE_VARIABLE(NAME, MANAGED)                                                               \
  static ::leap_cuda::DeviceVariable leap_device_variable_##NAME(#NAME, (const void*)&NAME, sizeof(NAME), \
                                                                 MANAGED)
#else
#define LEAP_DEVICE_VARIABLE(NAME, MANAGED) static_assert(true, "")
#endif

inline void* operator new(std::size_t bytes, leap_cuda::Heap) {
  return leap_cuda::heap_malloc(bytes);
}
inline void* operator new[](std::size_t bytes, leap_cuda::Heap) {
  return leap_cuda::heap_malloc(bytes);
}

// --- barriers and warp collectives
// ---------------------------------------------------------------------------------
#define LEAP_LINE int leap_line = __builtin_LINE()
inline void __syncthreads(LEAP_LINE) {
  leap_cuda::barrier(leap_line);
}
inline int __syncthreads_count(int p, LEAP_LINE) {
  return leap_cuda::barrier_reduce(leap_line, p, 0);
}
inline int __syncthreads_and(int p, LEAP_LINE) {
  return leap_cuda::barrier_reduce(leap_line, p, 1);
}
inline int __syncthreads_or(int p, LEAP_LINE) {
  return leap_cuda::barrier_reduce(leap_line, p, 2);
}
inline void __barrier_sync(unsigned id, LEAP_LINE) {
  leap_cuda::named_barrier(leap_line, id, 0, true);
}
inline void __barrier_sync_count(unsigned id, unsigned n, LEAP_LINE) {
  leap_cuda::named_barrier(leap_line, id, n, true);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, LEAP_LINE) {
  leap_cuda::warp(leap_line, mask, leap_cuda::Vote::kSync, 0, 0, 32);
}
inline unsigned __activemask(LEAP_LINE) {
  return static_cast<unsigned>(leap_cuda::warp(leap_line, 0, leap_cuda::Vote::kActive, 0, 0, 32));
}
inline unsigned __ballot_sync(unsigned mask, int p, LEAP_LINE) {
  return static_cast<unsigned>(leap_cuda::warp(leap_line, mask, leap_cuda::Vote::kBallot, p != 0, 0, 32));
}
inline int __all_sync(unsigned mask, int p, LEAP_LINE) {
  return static_cast<int>(leap_cuda::warp(leap_line, mask, leap_cuda::Vote::kAll, p != 0, 0, 32));
}
inline int __any_sync(unsigned mask, int p, LEAP_LINE) {
  return static_cast<int>(leap_cuda::warp(leap_line, mask, leap_cuda::Vote::kAny, p != 0, 0, 32));
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, LEAP_LINE) {
  return static_cast<unsigned>(
      leap_cuda::warp(leap_line, mask, leap_cuda::Vote::kMatchAny, leap_cuda::to_bits(value), 0, 32));
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* all, LEAP_LINE) {
  const unsigned same = static_cast<unsigned>(
      leap_cuda::warp(leap_line, mask, leap_cuda::Vote::kMatchAll, leap_cuda::to_bits(value), 0, 32));
  *all = same != 0;
  return same;
}

namespace leap_cuda {
template <class T>
using Shuffled =
    std::enable_if_t<std::is_arithmetic<T>::value || (std::is_class<T>::value && sizeof(T) <= 8), T>;
}
#define LEAP_SHUFFLE(NAME, VOTE, ARGUMENT)                                                                   \
  template <class T>                                                                                         \
  inline leap_cuda::Shuffled<T> NAME(unsigned mask, T value, ARGUMENT argument, int width = 32, LEAP_LINE) { \
    return leap_cuda::from_bits<T>(leap_cuda::warp(leap_line, mask, leap_cuda::Vote::VOTE,                   \
                                                   leap_cuda::to_bits(value), static_cast<int>(argument),    \
                                                   width));                                                  \
  }
LEAP_SHUFFLE(__shfl_sync, kShuffle, int)
LEAP_SHUFFLE(__shfl_up_sync, kUp, unsigned)
LEAP_SHUFFLE(__shfl_down_sync, kDown, unsigned)
LEAP_SHUFFLE(__shfl_xor_sync, kXor, int)
#undef LEAP_SHUFFLE

#define LEAP_REDUCE(NAME, T, VOTE)                                                                         \
  inline T NAME(unsigned mask, T value, LEAP_LINE) {                                                       \
    return static_cast<T>(leap_cuda::warp(leap_line, mask, leap_cuda::Vote::VOTE,                          \
                                          static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), 0, \
                                          32));                                                            \
  }
LEAP_REDUCE(__reduce_add_sync, unsigned, kAdd)
LEAP_REDUCE(__reduce_add_sync, int, kAdd)
LEAP_REDUCE(__reduce_min_sync, unsigned, kMin)
LEAP_REDUCE(__reduce_min_sync, int, kMin)
LEAP_REDUCE(__reduce_max_sync, unsigned, kMax)
LEAP_REDUCE(__reduce_max_sync, int, kMax)
LEAP_REDUCE(__reduce_and_sync, unsigned, kAnd)
LEAP_REDUCE(__reduce_or_sync, unsigned, kOr)
LEAP_REDUCE(__reduce_xor_sync, unsigned, kExclusiveOr)
#undef LEAP_REDUCE

inline void __threadfence() {
  leap_cuda::fence(1);
}
inline void __threadfence_block() {
  leap_cuda::fence(0);
}
inline void __threadfence_system() {
  leap_cuda::fence(2);
}
inline void __nanosleep(unsigned) {
  leap_cuda::yield();
}
[[noreturn]] inline void __trap(LEAP_LINE) {
  leap_cuda::trap(leap_line);
}
inline void __brkpt(LEAP_LINE) {
  leap_cuda::trap(leap_line);
}
