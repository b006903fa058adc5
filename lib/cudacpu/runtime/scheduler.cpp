// The threads of a block: who runs, who waits, and what warp collectives give.
//
// Theory. Threads run one after the other, each to its end or until it must wait. Until the first one waits
// (block not `active`) nothing is recorded of them at all. One that waits is resumed before a further one is
// started, so that few stacks are in use. The last lane to arrive at a collective works out the result of
// every lane.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "internal.h"

// Indices as candidates see them; they and the runtime are one program, so they lie at fixed offsets of the
// thread's base.
__thread uint3 leap_thread_index_storage __asm__("leap_thread_index");
__thread uint3 leap_block_index_storage __asm__("leap_block_index");
__thread uint3 leap_block_size_storage __asm__("leap_block_size");
__thread uint3 leap_grid_size_storage __asm__("leap_grid_size");

namespace leap_cuda {

__thread unsigned easy_threads __asm__("leap_easy_threads");
__thread unsigned thread_number __asm__("leap_thread_number");
__thread unsigned block_generation __asm__("leap_block_generation");
__thread unsigned loop_turns __asm__("leap_loop_turns");
thread_local Block* this_block = nullptr;

#ifndef LEAP_CHECKED
// Behind it an overrun of the longest array still hits nothing else.
__thread unsigned char dynamic_shared_storage[kMaxDynamicShared + 1024] __asm__("leap_dynamic_shared")
    __attribute__((aligned(1024)));
#endif

namespace {

thread_local Fiber* current_fiber = nullptr;
thread_local Fiber worker_stack;
thread_local std::vector<Fiber*> idle_fibers;

Thread& thread_at(Block& block, unsigned number) {
  Thread& thread = block.thread[number];
  thread.number = number;
  return thread;
}

void set_running(Block& block, unsigned number) {
  leap_thread_index_storage = block.thread[number].index;
  thread_number = number;
  check::thread_switched(block.thread[number]);
}

void count_easy(Block& block) {
  block.started += block.easy_given - easy_threads;
  block.easy_given = easy_threads = 0;
}

void start_next_thread(Block& block) {
  const dim3& size = block.launch->block;
  const unsigned number = block.order.empty() ? block.started : block.order[block.started];
  ++block.started;
  uint3& index = leap_thread_index_storage;
  index.x = number % size.x;
  const unsigned row = number / size.x;
  index.y = size.y == 1 ? 0 : row % size.y;
  index.z = size.y == 1 && size.z == 1 ? 0 : row / size.y;
  thread_number = number;
#ifdef LEAP_CHECKED
  Thread& thread = thread_at(block, number);
  thread.index = index;
  thread.line = thread.left_line = thread.left_body = 0;
  check::thread_switched(thread);
#else
  if (!block.active && block.order.empty()) block.easy_given = easy_threads = size.x - 1 - index.x;
#endif
}

void settle(Block& block, Warp& warp);

/// From here on the block keeps count of its threads. All that were started before the running one have left.
void activate(Block& block) {
  count_easy(block);
  block.active = true;
  block.alive = block.threads - block.started + 1;
  const unsigned warps = (block.threads + 31) / 32;
  for (unsigned w = 0; w < warps; ++w) {
    Warp& warp = block.warp[w];
    warp.alive = warp.waiting = warp.asking = warp.blocked = 0;
  }
  const auto live = [&](unsigned number) { block.warp[number / 32].alive |= 1u << number % 32; };
  for (unsigned i = block.started - 1; i < block.threads; ++i) live(block.order.empty() ? i : block.order[i]);
}

/// The running thread as one that will wait.
Thread& about_to_wait(int line, State state) {
  Block& block = *this_block;
  if (!block.active) activate(block);
  Thread& thread = thread_at(block, thread_number);
  thread.index = leap_thread_index_storage;
  thread.fiber = current_fiber;
  thread.line = line;
  thread.state = state;
  return thread;
}

Fiber* idle_fiber() {
  if (idle_fibers.empty()) return new_fiber();
  Fiber* fiber = idle_fibers.back();
  idle_fibers.pop_back();
  return fiber;
}

/// Makes another thread of the block the running one; gives its fiber, or the worker's own when there is
/// none.
Fiber* pick(Block& block) {
  if (block.ready_from < block.ready.size()) {
    const unsigned number = block.ready[block.ready_from++];
    if (block.ready_from == block.ready.size()) {
      block.ready.clear();
      block.ready_from = 0;
    }
    set_running(block, number);
    return block.thread[number].fiber;
  }
  if (block.started < block.threads) {
    start_next_thread(block);
    return idle_fiber();
  }
  return &worker_stack;
}

void switch_to(Fiber* to) {
  Fiber* from = current_fiber;
  if (to == from) return;
  current_fiber = to;
  leap_switch(&from->stack_pointer, to->stack_pointer);
}

void make_ready(Block& block, unsigned number) {
  block.thread[number].state = State::kReady;
  block.warp[number / 32].blocked &= ~(1u << number % 32);
  if (number != thread_number) block.ready.push_back(number);
}

void release(Block& block, unsigned id) {
  Barrier& barrier = block.barriers[id];
  if (id == 0) {
    block.reduced[0] = block.count;
    block.reduced[1] = block.all;
    block.reduced[2] = block.any;
    block.count = block.any = 0;
    block.all = 1;
  }
  check::barrier_release(block, id);
  barrier.arrived = 0;
  for (const unsigned number : barrier.waiters) make_ready(block, number);
  barrier.waiters.clear();
}

void wait_for_others(Block& block) {
  Warp& warp = block.warp[thread_number / 32];
  warp.blocked |= 1u << thread_number % 32;
  if (warp.asking) settle(block, warp);
  if (this_thread().state == State::kReady) return;
  switch_to(pick(block));
}

/// The running thread has left the kernel.
void finish_thread(Block& block) {
#ifdef LEAP_CHECKED
  check::thread_done(thread_at(block, thread_number));
#endif
  if (!block.active) return;
  block.thread[thread_number].state = State::kDone;
  --block.alive;
  Warp& warp = block.warp[thread_number / 32];
  warp.alive &= ~(1u << thread_number % 32);
  if (block.alive == 0) return;
  if (block.barriers[0].arrived == block.alive) release(block, 0);
  if (warp.waiting) settle(block, warp);
}

/// Every lane that takes part has arrived: works out what each gets.
void collective(Block& block, Warp& warp, unsigned base, unsigned mask, unsigned first) {
  const Vote operation = warp.operation[first];
  for (unsigned left = mask; left != 0; left &= left - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
    if (warp.operation[lane] != operation)
      fatal("deadlock", warp.line[lane], "lanes of one warp meet in different warp operations");
  }
  unsigned ballot = 0;
  std::uint64_t total = warp.value[first];
  if (operation >= Vote::kBallot) {
    for (unsigned left = mask; left != 0; left &= left - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
      const std::uint64_t value = warp.value[lane];
      if (value != 0) ballot |= 1u << lane;
      if (lane == first) continue;
      const auto as_signed = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
      switch (operation) {
        case Vote::kAdd:
          total += value;
          break;
        case Vote::kMin:
          total = as_signed(value) < as_signed(total) ? value : total;
          break;
        case Vote::kMax:
          total = as_signed(value) > as_signed(total) ? value : total;
          break;
        case Vote::kAnd:
          total &= value;
          break;
        case Vote::kOr:
          total |= value;
          break;
        case Vote::kExclusiveOr:
          total ^= value;
          break;
        default:
          break;
      }
    }
  }
  for (unsigned left = mask; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    std::uint64_t result = 0;
    switch (operation) {
      case Vote::kShuffle:
      case Vote::kUp:
      case Vote::kDown:
      case Vote::kXor: {
        const int width = warp.width[lane], argument = warp.argument[lane];
        const int from = lane & ~(width - 1), last = from | (width - 1);
        int source = lane;
        if (operation == Vote::kShuffle) source = from | (argument & (width - 1));
        if (operation == Vote::kUp) source = lane - argument < from ? lane : lane - argument;
        if (operation == Vote::kDown) source = lane + argument > last ? lane : lane + argument;
        if (operation == Vote::kXor) source = (lane ^ argument) > last ? lane : lane ^ argument;
        if (mask >> (source & 31) & 1) {
          result = warp.value[source & 31];
        } else {
          result = ~std::uint64_t{0};  // undefined: what the lane has is not there
          check::inactive_lane(block.thread[base + static_cast<unsigned>(lane)],
                               static_cast<unsigned>(source), warp.line[lane]);
        }
        break;
      }
      case Vote::kSync:
        result = warp.value[lane];
        break;
      case Vote::kBallot:
        result = ballot;
        break;
      case Vote::kAll:
        result = ballot == mask;
        break;
      case Vote::kAny:
        result = ballot != 0;
        break;
      case Vote::kMatchAny:
        for (unsigned other = mask; other != 0; other &= other - 1) {
          const int o = __builtin_ctz(other);
          if (warp.value[o] == warp.value[lane]) result |= 1u << o;
        }
        break;
      case Vote::kMatchAll:
        result = mask;
        for (unsigned other = mask; other != 0; other &= other - 1)
          if (warp.value[__builtin_ctz(other)] != warp.value[lane]) result = 0;
        break;
      default:
        result = total;
        break;
    }
    warp.result[lane] = result;
  }
  warp.waiting &= ~mask;
  check::warp_release(block, base / 32, mask);
  for (unsigned left = mask; left != 0; left &= left - 1)
    make_ready(block, base + static_cast<unsigned>(__builtin_ctz(left)));
}

/// Completes the collectives of a warp for which nobody is missing any more.
void settle(Block& block, Warp& warp) {
  const unsigned base = static_cast<unsigned>(&warp - block.warp) * 32;
  for (unsigned left = warp.waiting & ~warp.asking; left != 0;) {
    const int lane = __builtin_ctz(left);
    left &= left - 1;
    const unsigned members = warp.mask[lane] & warp.alive;
    if ((warp.waiting & members) != members || (warp.asking & members)) continue;
    bool same = true;
    for (unsigned other = members; other != 0; other &= other - 1)
      same &= warp.mask[__builtin_ctz(other)] == warp.mask[lane];
    if (!same) continue;
    left &= ~members;
    collective(block, warp, base, members, static_cast<unsigned>(lane));
  }
  // Who is together at __activemask is known once no lane can come any more.
  while (warp.asking && warp.blocked == warp.alive) {
    const int lane = __builtin_ctz(warp.asking);
    unsigned together = 0;
    for (unsigned other = warp.asking; other != 0; other &= other - 1) {
      const int o = __builtin_ctz(other);
      if (warp.line[o] == warp.line[lane]) together |= 1u << o;
    }
    warp.asking &= ~together;
    warp.waiting &= ~together;
    for (unsigned other = together; other != 0; other &= other - 1) {
      const unsigned o = static_cast<unsigned>(__builtin_ctz(other));
      warp.result[o] = together;
      make_ready(block, base + o);
    }
  }
}

[[noreturn]] void report_deadlock(Block& block) {
  unsigned at_barrier = 0, at_warp = 0, missing = 0;
  int barrier_line = 0, warp_line = 0;
  for (unsigned i = 0; i < block.threads; ++i) {
    if (!(block.warp[i / 32].alive >> i % 32 & 1)) {
      ++missing;
    } else if (block.thread[i].state == State::kAtBarrier) {
      ++at_barrier;
      barrier_line = block.thread[i].line;
    } else if (block.thread[i].state == State::kAtWarp) {
      ++at_warp;
      warp_line = block.thread[i].line;
    }
  }
  std::string message = "the threads of a block wait for each other:";
  if (at_barrier)
    message += " " + std::to_string(at_barrier) + " at a barrier (line " + std::to_string(barrier_line) + ")";
  if (at_warp)
    message += std::string(at_barrier ? "," : "") + " " + std::to_string(at_warp) +
               " at a warp operation (line " + std::to_string(warp_line) + ")";
  if (missing) message += ", " + std::to_string(missing) + " have left the kernel";
  fatal("deadlock", at_warp ? warp_line : barrier_line, message);
}

}  // namespace

/// On a fiber of its own: runs threads as long as there are any to begin.
extern "C" void leap_fiber_main(Fiber* self) {
  while (true) {
    const Launch& launch = *this_block->launch;
    launch.kernel->run(launch.body);
    Fiber* to = pick(*this_block);
    idle_fibers.push_back(self);
    switch_to(to);
  }
}

bool next_thread_slowly() {
  Block& block = *this_block;
  if (!block.active) count_easy(block);
  finish_thread(block);
  if (block.ready_from < block.ready.size() || block.started == block.threads) return false;
  start_next_thread(block);
  return true;
}

/// Runs until no thread of the block can go on. True when all have left the kernel.
bool run_block(Block& block) {
  this_block = &block;
  block_generation = block.generation;
  current_fiber = &worker_stack;
  switch_to(pick(block));
  count_easy(block);
  this_block = nullptr;
  if (!block.active || block.alive == 0) return true;
  if (!block.yielding && block.at_grid != block.alive) {
    this_block = &block;
    report_deadlock(block);
  }
  return false;
}

void resume_from_grid(Block& block) {
  for (unsigned i = 0; i < block.threads; ++i) {
    if (block.thread[i].state != State::kAtGrid || !(block.warp[i / 32].alive >> i % 32 & 1)) continue;
    block.thread[i].state = State::kReady;
    block.warp[i / 32].blocked &= ~(1u << i % 32);
    block.ready.push_back(i);
  }
  block.at_grid = 0;
}

void barrier(int line) {
  named_barrier(line, 0, 0, true);
}

int barrier_reduce(int line, int predicate, int operation) {
  if (this_block) {
    Block& block = *this_block;
    block.count += predicate != 0;
    block.all &= predicate != 0;
    block.any |= predicate != 0;
  }
  barrier(line);
  return this_block ? this_block->reduced[operation] : 0;
}

void named_barrier(int line, unsigned id, unsigned threads, bool wait) {
  if (!this_block) uncovered("a barrier in host code");
  Block& block = *this_block;
  if (id >= kNamedBarriers) fatal("device_fault", line, "a barrier's number is at most 15");
  Thread& thread = about_to_wait(line, State::kAtBarrier);
  check::barrier_arrive(thread, id, line);
  Barrier& barrier = block.barriers[id];
  ++barrier.arrived;
  if (barrier.arrived == (threads ? threads : block.alive)) {
    thread.state = State::kReady;
    release(block, id);
    return;
  }
  if (!wait) {
    thread.state = State::kReady;
    return;
  }
  barrier.waiters.push_back(thread_number);
  wait_for_others(block);
}

void grid_barrier(int line) {
  if (!this_block) uncovered("a barrier in host code");
  Block& block = *this_block;
  if (!block.launch->cooperative)
    fatal("launch_error", line,
          "grid synchronisation in a kernel not launched by cudaLaunchCooperativeKernel");
  about_to_wait(line, State::kAtGrid);
  ++block.at_grid;
  wait_for_others(block);
}

std::uint64_t warp(int line, unsigned mask, Vote operation, std::uint64_t value, int argument, int width) {
  if (!this_block) uncovered("a warp operation in host code");
  Block& block = *this_block;
  about_to_wait(line, State::kAtWarp);
  const unsigned mine = thread_number % 32, bit = 1u << mine;
  Warp& warp = block.warp[thread_number / 32];
  if (operation == Vote::kActive) {
    warp.asking |= bit;
  } else if (!(mask & bit)) {
    fatal("deadlock", line, "a thread calls a warp operation whose mask leaves it out");
  }
  warp.mask[mine] = mask;
  warp.operation[mine] = operation;
  warp.value[mine] = value;
  warp.argument[mine] = argument;
  warp.width[mine] = width < 1 || width > 32 ? 32 : width;
  warp.line[mine] = line;
  warp.waiting |= bit;
  if (operation != Vote::kActive) {
    const unsigned members = mask & warp.alive;
    if ((warp.waiting & members) == members) settle(block, warp);
  }
  if (this_thread().state != State::kReady) wait_for_others(block);
  return warp.result[mine];
}

const std::uint64_t* warp_values(int line, std::uint64_t mine) {
  warp(line, 0xffffffffu, Vote::kSync, mine, 0, 32);
  return this_block->warp[thread_number / 32].result;
}

void yield() {
  if (!this_block) return;
  Block& block = *this_block;
  about_to_wait(0, State::kReady);
  if (block.ready_from == block.ready.size() && block.started == block.threads) {
    // Only another block can bring what this one waits for.
    block.yielding = true;
    block.ready.push_back(thread_number);
    switch_to(&worker_stack);
    return;
  }
  block.ready.push_back(thread_number);
  if (block.started < block.threads) {
    start_next_thread(block);
    switch_to(idle_fiber());
  } else {
    switch_to(pick(block));
  }
}

void touch_shared(void* at, std::size_t bytes, const char* name, int line) {
  if (!this_block) return;
  Block& block = *this_block;
  for (const Touched& touched : block.touched)
    if (touched.at == at) return;
  std::memset(at, 0xff, bytes);
  block.touched.push_back({at, bytes});
  block.static_shared += bytes;
#ifdef LEAP_CHECKED
  check::shared_variable(at, bytes, name, line);
#else
  (void)name;
#endif
  if (block.static_shared > (48 << 10))
    fatal("compile_error", line,
          "kernel " + std::string(block.launch->kernel->name) + " uses too much shared data (" +
              std::to_string(block.static_shared) + " bytes, 49152 max)");
}

#ifdef LEAP_CHECKED
void* dynamic_shared() {
  return check::shared_arena();
}

void* checked_shared(std::size_t bytes, std::size_t alignment, const char*, int) {
  constexpr std::size_t kGap = 1024;  // an overrun does not reach the next array
  static thread_local std::size_t used = (kMaxDynamicShared + 2 * kGap + 1023) / 1024 * 1024;
  const std::size_t unit = alignment > kGap ? alignment : kGap;
  used = (used + unit - 1) / unit * unit;
  void* at = check::shared_arena() + used;
  used += bytes + kGap;
  if (used > check::shared_arena_bytes()) fatal("compile_error", 0, "uses too much shared data");
  return at;
}
#else
void* dynamic_shared() {
  return dynamic_shared_storage;
}
#endif

unsigned dynamic_shared_bytes() {
  return this_block ? static_cast<unsigned>(this_block->launch->dynamic_shared) : 0;
}

long long clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const Fiber* running_fiber() {
  return current_fiber;
}

#ifdef LEAP_CHECKED
void leave(int line, int body) {
  if (!this_block) return;
  Thread& thread = this_block->thread[thread_number];
  thread.left_line = line;
  thread.left_body = body;
}
#endif

unsigned lane() {
  return thread_number % 32;
}
unsigned thread_rank() {
  return thread_number;
}
bool in_kernel() {
  return this_block != nullptr;
}

void fence(int scope) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  check::fence(scope);
  if (this_block && ++loop_turns % 64 == 0) yield();
}

}  // namespace leap_cuda

unsigned leap_is_shared(const void* at) {
#ifdef LEAP_CHECKED
  return static_cast<std::size_t>(static_cast<const unsigned char*>(at) - leap_cuda::check::shared_arena()) <
         leap_cuda::check::shared_arena_bytes();
#else
  // Static and dynamic shared memory are the thread's own.
  const auto* anchor = leap_cuda::dynamic_shared_storage;
  const std::ptrdiff_t offset = static_cast<const unsigned char*>(at) - anchor;
  return offset > -(4 << 20) && offset < (1 << 20) && !leap_cuda::in_device_range(at);
#endif
}
