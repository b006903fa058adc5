// What the runtime tells the checker: launches, blocks, threads, synchronisation, memory.
#ifdef LEAP_CHECKED
#include <algorithm>

#include "check_access.h"

namespace leap_cuda {
namespace check {

Checker* checker = nullptr;
thread_local Checker* here = nullptr;

namespace {

constexpr std::size_t kLead = 64 << 10;  // before the first array: negative indices end there

Checker& the_checker() {
  if (!checker) checker = new Checker;
  return *checker;
}

BlockWatch& watch_of(const Block& block) {
  std::unique_ptr<BlockWatch>& watch = checker->watches[&block];
  if (!watch) watch = std::make_unique<BlockWatch>();
  return *watch;
}

unsigned index_of_barrier(int line) {
  std::vector<int>& lines = checker->barrier_lines;
  const auto at = std::find(lines.begin(), lines.end(), line);
  const auto index = static_cast<unsigned>(at - lines.begin());
  if (at == lines.end()) lines.push_back(line);
  return std::min(index, 63u);
}

// Threads that have left without the barrier that the others of the block waited at.
void check_those_gone(const Block& block, BlockWatch& watch) {
  const int line = watch.barrier_line;
  const std::uint64_t bit = std::uint64_t{1} << index_of_barrier(line);
  for (unsigned i = 0; i < block.threads; ++i) {
    const BlockWatch::Walk& walk = watch.walk[i];
    if (!walk.done) continue;
    const Thread& thread = block.thread[i];
    const bool fell_off = thread.left_line == 0;
    const bool passed_it = thread.left_body <= line && line < thread.left_line && !(walk.visited & bit);
    if (!fell_off && !passed_it) continue;
    if (!checker->reported.insert({&watch, line}).second) return;
    note("deadlock", line,
         checker->describe_thread(i) + " of the block went round this __syncthreads(), at which others wait");
    return;
  }
}

}  // namespace

void launch_begin(const Launch& launch) {
  Checker& c = the_checker();
  here = &c;
  c.launch = &launch;
  c.order.begin_launch();
  c.cells.begin_launch();
  c.barrier_lines.clear();
  for (const SharedVariable& v : c.shared) set_addressable(c.arena_valid, v.offset, v.bytes, false);
  c.shared.clear();
  if (launch.dynamic_shared) shared_variable(c.arena + kLead, launch.dynamic_shared, "(dynamic)", launch.line);
}

void launch_end(const Launch&) {
  Checker& c = *checker;
  c.settle();
  c.running = nullptr;
  c.block = nullptr;
  here = nullptr;
}

void block_begin(const Block& block) {
  Checker& c = *checker;
  BlockWatch& watch = watch_of(block);
  watch.block = &block;
  if (!watch.shared) {
    if (c.free_shadows.empty()) {
      watch.shared = static_cast<Cell*>(reserve(Checker::kArena / 4 * sizeof(Cell)));
    } else {
      watch.shared = c.free_shadows.back();
      c.free_shadows.pop_back();
    }
  }
  watch.barrier_line = watch.other_barrier_line = 0;
  watch.done = 0;
  std::fill(watch.walk, watch.walk + block.threads, BlockWatch::Walk());
  c.order.begin_block(&watch.order, static_cast<std::uint32_t>(block.number), block.threads);
  c.block = &watch;
}

void block_end(const Block& block) {
  Checker& c = *checker;
  c.settle();
  c.running = nullptr;
  BlockWatch& watch = watch_of(block);
  c.free_shadows.push_back(watch.shared);
  watch.shared = nullptr;
  c.block = nullptr;
}

void block_parked(const Block&) {
  checker->settle();
  checker->running = nullptr;
}

void block_resumed(const Block& block) {
  checker->block = &watch_of(block);
}

void shared_variable(void* at, std::size_t bytes, const char* name, int line) {
  Checker& c = *checker;
  const auto offset = static_cast<std::size_t>(static_cast<unsigned char*>(at) - c.arena);
  for (const SharedVariable& v : c.shared)
    if (v.offset == offset && v.bytes == bytes) return;
  set_addressable(c.arena_valid, offset, bytes, true);
  c.shared.push_back({offset, bytes, name, line});
}

void thread_switched(const Thread& thread) {
  Checker& c = *checker;
  c.settle();
  c.running = &c.block->order.thread[thread.number];
}

void thread_done(const Thread& thread) {
  Checker& c = *checker;
  c.settle();
  BlockWatch& watch = *c.block;
  watch.walk[thread.number].done = true;
  ++watch.done;
}

void barrier_arrive(const Thread& thread, unsigned id, int line) {
  Checker& c = *checker;
  c.settle();
  BlockWatch& watch = *c.block;
  if (id != 0) {
    c.order.arrive(&watch.order.thread[thread.number], id);
    return;
  }
  watch.walk[thread.number].visited |= std::uint64_t{1} << index_of_barrier(line);
  if (watch.barrier_line == 0)
    watch.barrier_line = line;
  else if (watch.barrier_line != line)
    watch.other_barrier_line = line;
}

void barrier_release(const Block& block, unsigned id) {
  Checker& c = *checker;
  c.settle();
  BlockWatch& watch = *c.block;
  if (id != 0) {
    c.order.barrier_sync(&watch.order, id);
    return;
  }
  if (watch.other_barrier_line != 0 && c.reported.insert({nullptr, watch.barrier_line}).second)
    note("deadlock", std::min(watch.barrier_line, watch.other_barrier_line),
         "threads of one block wait at different __syncthreads(): lines " +
             std::to_string(std::min(watch.barrier_line, watch.other_barrier_line)) + " and " +
             std::to_string(std::max(watch.barrier_line, watch.other_barrier_line)));
  if (watch.done != 0) check_those_gone(block, watch);
  watch.barrier_line = watch.other_barrier_line = 0;
  c.order.block_sync(&watch.order);
}

void grid_release(const Launch&) {
  Checker& c = *checker;
  c.settle();
  std::vector<BlockOrder*> blocks;
  for (const auto& entry : c.watches)
    if (entry.second->shared) blocks.push_back(&entry.second->order);
  c.order.grid_sync(blocks);
}

void warp_release(const Block& block, unsigned warp, unsigned mask) {
  Checker& c = *checker;
  c.settle();
  c.order.warp_sync(&c.block->order, warp, mask, block.warp[warp].alive);
}

void inactive_lane(const Thread&, unsigned, int) {}

void atomic(const volatile void* at, std::size_t bytes, int line) {
  if (here && here->running)
    here->access(const_cast<void*>(at), bytes, Access::kAtomic, {nullptr, nullptr, line});
}

void fence(int scope) {
  if (!here || !here->running) return;
  here->settle();
  here->order.fence(here->running, scope != 0);
}

void settle() {
  if (here && here->running) here->settle();
}

void allocated(void* at, std::size_t bytes, Allocation::Kind) {
  Checker& c = the_checker();
  c.device.set(static_cast<std::size_t>(static_cast<unsigned char*>(at) - device_base()), bytes, true);
  c.allocations[reinterpret_cast<std::uintptr_t>(at)] = {bytes, true};
}

void freed(void* at, std::size_t bytes) {
  Checker& c = the_checker();
  c.device.set(static_cast<std::size_t>(static_cast<unsigned char*>(at) - device_base()), bytes, false);
  const auto found = c.allocations.find(reinterpret_cast<std::uintptr_t>(at));
  if (found != c.allocations.end()) found->second.second = false;
}

void copied(void*, const void*, std::size_t) {}

void begin_trial() {
  the_checker().reported.clear();
}

void end_trial() {}

unsigned char* shared_arena() {
  return the_checker().arena + kLead;
}

std::size_t shared_arena_bytes() {
  return Checker::kArena - kLead;
}

}  // namespace check
DeviceVariable::DeviceVariable(const char* name, const void* at, std::size_t bytes, bool managed) {
  check::told_variables().push_back({name, at, bytes, managed});
}

void copy_access(void* to, const void* from, std::size_t bytes) {
  using check::Access;
  check::Checker* const c = check::checker;
  if (!c || bytes == 0) return;
  if (!check::here || !c->running) {
    if (from) c->host_access(const_cast<void*>(from), bytes, false, LEAP_CALLER);
    c->host_access(to, bytes, true, LEAP_CALLER);
    return;
  }
  c->settle();
  if (from) c->access(const_cast<void*>(from), bytes, Access::kRead, LEAP_CALLER);
  c->access(to, bytes, Access::kWrite, LEAP_CALLER);
}

void atomic_access(const volatile void* at, std::size_t bytes, int line) {
  check::atomic(at, bytes, line);
}

}  // namespace leap_cuda
#endif
