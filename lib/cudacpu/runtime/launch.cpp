// Launches: configuration, limits of the device, and the workers that run the blocks of a grid.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "graph.h"
#include "internal.h"

extern __thread uint3 leap_block_index_storage __asm__("leap_block_index");
extern __thread uint3 leap_block_size_storage __asm__("leap_block_size");
extern __thread uint3 leap_grid_size_storage __asm__("leap_grid_size");

namespace leap_cuda {
namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
  int line;
  bool cooperative;
};

thread_local std::vector<Configuration> configurations;
thread_local Kernel* described = nullptr;
thread_local bool describing = false;
thread_local bool next_is_cooperative = false;
std::uint64_t launches = 0;

/// A bijection of the blocks of a grid, given by the order's seed.
struct BlockOrder {
  std::uint64_t blocks, factor, offset;
  BlockOrder(unsigned seed, std::uint64_t launch, std::uint64_t count) : blocks(count), factor(1), offset(0) {
    if (seed < 2 || count < 3) return;
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + launch;
    const auto draw = [&] {
      state ^= state << 13;
      state ^= state >> 7;
      return state ^= state << 17;
    };
    offset = draw() % count;
    do factor = draw() % std::min<std::uint64_t>(count, 0xffffffffu);
    while (std::gcd(factor, count) != 1);
  }
  std::uint64_t operator()(std::uint64_t i) const {
    if (settings().order == 1) return blocks - 1 - i;
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * factor + offset) % blocks);
  }
};

void prepare(Block& block, Launch& launch, std::uint64_t number) {
  static thread_local unsigned generations = 0;
  block.launch = &launch;
  block.number = number;
  block.index.x = static_cast<unsigned>(number % launch.grid.x);
  block.index.y = static_cast<unsigned>(number / launch.grid.x % launch.grid.y);
  block.index.z = static_cast<unsigned>(number / launch.grid.x / launch.grid.y);
  block.threads = launch.threads;
  block.generation = ++generations;
  block.started = block.easy_given = block.alive = block.at_grid = block.grid_round = 0;
  block.active = block.yielding = false;
  block.count = block.any = 0;
  block.all = 1;
  block.static_shared = 0;
  block.ready.clear();
  block.ready_from = 0;
  block.touched.clear();
  for (Barrier& barrier : block.barriers) {
    barrier.arrived = 0;
    barrier.waiters.clear();
  }
  const unsigned seed = settings().order;
  block.order.clear();
  if (seed != 0) {
    block.order.resize(launch.threads);
    std::iota(block.order.begin(), block.order.end(), 0u);
    if (seed == 1) {
      std::reverse(block.order.begin(), block.order.end());
    } else {
      std::uint64_t state = seed * 0x9e3779b97f4a7c15u ^ (number + 1) * 0xbf58476d1ce4e5b9u ^ launch.number;
      for (unsigned i = launch.threads; i > 1; --i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::swap(block.order[i - 1], block.order[(state >> 33) % i]);
      }
    }
  }
  if (launch.dynamic_shared) {
    std::memset(dynamic_shared(), 0xff, launch.dynamic_shared);
    block.touched.push_back({dynamic_shared(), launch.dynamic_shared});
  }
}

/// Shared memory is where the worker has it: a block that has to wait for others keeps a copy meanwhile.
void park(Block& block) {
  std::size_t bytes = 0;
  for (const Touched& touched : block.touched) bytes += touched.bytes;
  block.saved.resize(bytes);
  unsigned char* to = block.saved.data();
  for (const Touched& touched : block.touched) {
    std::memcpy(to, touched.at, touched.bytes);
    to += touched.bytes;
  }
  check::block_parked(block);
}

void unpark(Block& block) {
  const unsigned char* from = block.saved.data();
  for (const Touched& touched : block.touched) {
    std::memcpy(touched.at, from, touched.bytes);
    from += touched.bytes;
  }
  check::block_resumed(block);
}

void wait_a_little() {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// One worker's share of a launch.
void work(Launch& launch) {
  static thread_local std::vector<std::unique_ptr<Block>> free_blocks;
  std::vector<std::unique_ptr<Block>> parked;
  const BlockOrder order(settings().order, launch.number, launch.blocks);
  leap_block_size_storage = launch.block;
  leap_grid_size_storage = launch.grid;
  std::size_t turn = 0;
  unsigned idle_rounds = 0;
  bool counted_stuck = false;
  while (true) {
    std::unique_ptr<Block> block;
    bool fresh = false;
    // Blocks that wait for others come after those that have not begun.
    const std::uint64_t next = launch.next_block.load(std::memory_order_relaxed) < launch.blocks
                                   ? launch.next_block.fetch_add(1, std::memory_order_relaxed)
                                   : launch.blocks;
    if (next < launch.blocks) {
      if (free_blocks.empty()) {
        block = std::make_unique<Block>();
      } else {
        block = std::move(free_blocks.back());
        free_blocks.pop_back();
      }
      prepare(*block, launch, order(next));
      fresh = true;
    } else if (parked.empty()) {
      ++launch.stuck_workers;
      return;
    } else {
      std::size_t tries = 0;
      for (; tries < parked.size(); ++tries) {
        turn = (turn + 1) % parked.size();
        Block& candidate = *parked[turn];
        if (candidate.yielding || candidate.grid_round != launch.grid_round.load(std::memory_order_acquire))
          break;
      }
      if (tries == parked.size()) {
        // All wait for the grid. Nobody else runs either: those that are missing have left the kernel.
        if (!counted_stuck) {
          counted_stuck = true;
          ++launch.stuck_workers;
        }
        if (launch.stuck_workers.load() == launch.workers && ++idle_rounds > 200)
          fatal("deadlock", parked[0]->thread[0].line,
                "some blocks wait for the whole grid, others have left the kernel");
        wait_a_little();
        continue;
      }
      block = std::move(parked[turn]);
      parked.erase(parked.begin() + static_cast<std::ptrdiff_t>(turn));
    }
    if (counted_stuck) {
      counted_stuck = false;
      --launch.stuck_workers;
    }
    idle_rounds = 0;
    leap_block_index_storage = block->index;
    if (fresh) {
      check::block_begin(*block);
    } else {
      unpark(*block);
      if (!block->yielding) resume_from_grid(*block);
      block->yielding = false;
    }
    if (run_block(*block)) {
      check::block_end(*block);
      ++launch.blocks_done;
      free_blocks.push_back(std::move(block));
      continue;
    }
    park(*block);
    if (!block->yielding) {
      block->grid_round = launch.grid_round.load();
      if (launch.grid_arrived.fetch_add(1) + 1 == launch.blocks) {
        launch.grid_arrived = 0;
        check::grid_release(launch);
        launch.grid_round.fetch_add(1, std::memory_order_release);
      }
    }
    parked.push_back(std::move(block));
  }
}

/// Threads of the system that wait for grids to run.
class Pool {
 public:
  void run(Launch& launch, unsigned helpers) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (threads_ < helpers) {
      std::thread([this, number = threads_] { serve(number); }).detach();
      ++threads_;
    }
    launch_ = &launch;
    wanted_ = helpers;
    running_ = helpers;
    ++round_;
    begin_.notify_all();
    lock.unlock();
    work(launch);
    lock.lock();
    end_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  void serve(unsigned number) {
    install_fault_handler();
    std::unique_lock<std::mutex> lock(mutex_);
    std::uint64_t seen = 0;
    while (true) {
      begin_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (number >= wanted_) continue;
      Launch& launch = *launch_;
      lock.unlock();
      work(launch);
      lock.lock();
      if (--running_ == 0) end_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  Launch* launch_ = nullptr;
  unsigned threads_ = 0, wanted_ = 0, running_ = 0;
  std::uint64_t round_ = 0;
};

Pool& pool() {
  static Pool* const it = new Pool;  // its threads live as long as the process
  return *it;
}

std::mutex one_launch;

void fill(Launch& launch, Kernel& kernel, const Configuration& c, std::uint64_t threads) {
  launch.kernel = &kernel;
  launch.grid = c.grid;
  launch.block = c.block;
  launch.dynamic_shared = c.shared;
  launch.line = c.line;
  launch.cooperative = c.cooperative;
  launch.threads = static_cast<unsigned>(threads);
  launch.blocks = static_cast<std::uint64_t>(c.grid.x) * c.grid.y * c.grid.z;
}

struct Remembered {
  Untyped call;
  Kernel* (*describe)(void*);
};
std::map<void*, Remembered>& remembered() {
  static std::map<void*, Remembered> it;
  return it;
}

}  // namespace

void run_launch(Launch& launch) {
  std::lock_guard<std::mutex> lock(one_launch);
  launch.number = ++launches;
  const Unlocked unlocked;
  check::launch_begin(launch);
  unsigned workers = std::max(1u, settings().workers);
#ifdef LEAP_CHECKED
  workers = 1;
#endif
  if (launch.blocks < workers) workers = static_cast<unsigned>(launch.blocks);
  if (launch.blocks * launch.threads < 4096) workers = 1;  // waking a worker takes longer
  launch.workers = workers;
  if (workers == 1)
    work(launch);
  else
    pool().run(launch, workers - 1);
  check::launch_end(launch);
}

void push_configuration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream, int line) {
  if (in_kernel()) uncovered("dynamic parallelism (a kernel that launches a kernel)");
  configurations.push_back({grid, block, shared, stream, line, next_is_cooperative});
  next_is_cooperative = false;
}

void launch_cooperatively() {
  next_is_cooperative = true;
}

void begin_describing() {
  describing = true;
  described = nullptr;
}

Kernel* end_describing() {
  describing = false;
  return described;
}

void* remember(void* stub, Untyped call, Kernel* (*describe)(void*)) {
  remembered()[stub] = {call, describe};
  return stub;
}

Kernel* describe_untyped(const void* stub) {
  const auto at = remembered().find(const_cast<void*>(stub));
  return at == remembered().end() ? nullptr : at->second.describe(const_cast<void*>(stub));
}

bool call_untyped(const void* stub, void** arguments) {
  const auto at = remembered().find(const_cast<void*>(stub));
  if (at == remembered().end()) return false;
  at->second.call(const_cast<void*>(stub), arguments);
  return true;
}

void launch(Kernel& kernel, const void* body) {
  if (describing) {
    described = &kernel;
    return;
  }
  if (configurations.empty()) {
    if (in_kernel()) uncovered("dynamic parallelism (a kernel that calls a kernel)");
    fatal("compile_error", kernel.line,
          std::string("a __global__ function call must be configured: ") + kernel.name);
  }
  const Configuration c = configurations.back();
  configurations.pop_back();
  const auto text = [](const dim3& d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
  };
  constexpr int kInvalidValue = 1, kInvalidConfiguration = 9, kOutOfResources = 701, kTooLarge = 720;
  const auto refuse = [&](int error, const std::string& why, bool only_empty = false) {
    refuse_launch(error, c.line, kernel.name, why, only_empty);
  };
  const std::uint64_t threads = static_cast<std::uint64_t>(c.block.x) * c.block.y * c.block.z;
  if (c.block.x == 0 || c.block.y == 0 || c.block.z == 0)
    return refuse(kInvalidConfiguration, "a block of " + text(c.block) + " threads");
  if (c.block.x > 1024 || c.block.y > 1024 || c.block.z > 64 || threads > kMaxThreads)
    return refuse(kInvalidConfiguration,
                  "a block of " + text(c.block) + " threads; at most 1024, and (1024, 1024, 64)");
  const bool empty = c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0;
  if (c.grid.x > 0x7fffffffu || c.grid.y > 65535 || c.grid.z > 65535)
    return refuse(kInvalidConfiguration,
                  "a grid of " + text(c.grid) + " blocks; at most (2147483647, 65535, 65535)");
  if (empty) return refuse(kInvalidConfiguration, "a grid of " + text(c.grid) + " blocks", true);
  if (kernel.max_threads && threads > kernel.max_threads)
    return refuse(kOutOfResources, "a block of " + std::to_string(threads) +
                                       " threads; __launch_bounds__ says at most " +
                                       std::to_string(kernel.max_threads));
  const std::size_t allowed =
      std::max<std::size_t>(48 << 10, static_cast<std::size_t>(std::max(0, kernel.max_dynamic_shared)));
  if (c.shared > allowed)
    return refuse(kInvalidValue, std::to_string(c.shared) + " bytes of dynamic shared memory; at most " +
                                     std::to_string(allowed) +
                                     (allowed == (48 << 10) ? " without cudaFuncSetAttribute" : ""));
  Launch l;
  fill(l, kernel, c, threads);
  if (l.cooperative) {
    const std::uint64_t resident =
        static_cast<std::uint64_t>(limits().multiprocessors) * std::min<std::uint64_t>(2048 / threads, 32);
    if (l.blocks > resident)
      return refuse(kTooLarge, std::to_string(l.blocks) +
                                   " blocks in a cooperative launch; the device holds " +
                                   std::to_string(resident) + " at once");
  }
  // A stream that records keeps the launch, with its arguments.
  const auto* bytes = static_cast<const unsigned char*>(body);
  const std::vector<unsigned char> kept(bytes, bytes + kernel.body_bytes);
  const auto later = [&kernel, c, threads, kept] {
    Launch again;
    fill(again, kernel, c, threads);
    again.body = kept.data();
    count_launch();
    run_launch(again);
  };
  if (record(c.stream, later)) return;
  l.body = body;
  count_launch();
  run_launch(l);
}

}  // namespace leap_cuda
