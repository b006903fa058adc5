// Which events of a launch come before which, whatever the order the threads happened to run in.
//
// Every thread carries a stamp that grows when it synchronises; an access is remembered by (thread, stamp). A
// thread knows of another one's events up to a stamp: of its block since the last barrier, of its warp since
// the last collective (lane by lane when that had a partial mask), and of anybody through what it has read
// from atomics that were released by a fence.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace leap_cuda {
namespace check {

using Stamp = std::uint32_t;

// (synchronising location, version of it that was seen), sorted by location; never changed once made.
using Learned = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// What a thread knew when it fenced.
struct FencePoint {
  Stamp at = 0;  // its own events before; 0: no fence yet
  Stamp block_seen = 0, warp_seen = 0;
  const Learned* learned = nullptr;
};

struct BlockOrder;

struct ThreadOrder {
  std::uint32_t id = 0;    // block << 10 | number in the block
  std::uint32_t warp = 0;  // id >> 5
  std::uint32_t lane_bit = 0;
  Stamp now = 0;
  Stamp begun = 0;               // of the block
  Stamp grid_seen = 0;           // every block's events before
  Stamp block_seen = 0;          // those of the own block
  Stamp warp_seen = 0;           // those of the own warp
  const Stamp* lanes = nullptr;  // [32] the same for each lane, while the warp synchronises in parts
  const Learned* learned = nullptr;
  FencePoint fenced[2];  // scope of the block, of the device
  BlockOrder* block = nullptr;
};

struct BlockOrder {
  std::uint32_t number = 0;
  unsigned threads = 0;
  Stamp begun = 0;  // stamps before it are of other blocks
  bool any_fence = false, any_learned = false;
  std::unique_ptr<ThreadOrder[]> thread;
  unsigned room = 0;  // threads it can hold
  std::vector<Stamp> lane_rows;  // [threads][32], when asked for
  std::vector<std::pair<ThreadOrder*, Stamp>> arrived[16];
  std::uint32_t barrier_location[16] = {};
};

inline std::uint32_t block_of(std::uint32_t id) {
  return id >> 10;
}

class Order {
 public:
  void begin_launch();
  void begin_block(BlockOrder* block, std::uint32_t number, unsigned threads);
  void block_sync(BlockOrder* block);
  void warp_sync(BlockOrder* block, unsigned warp, unsigned mask, unsigned alive);
  void arrive(ThreadOrder* thread, unsigned barrier);      // at a barrier of part of a block
  void barrier_sync(BlockOrder* block, unsigned barrier);  // all that arrived
  void grid_sync(const std::vector<BlockOrder*>& blocks);
  void fence(ThreadOrder* thread, bool device);

  // An atomic at the location of this key. Locations exist once something was released there.
  void release(ThreadOrder* thread, std::uintptr_t key);
  void acquire(ThreadOrder* thread, std::uintptr_t key);

  // Does the event come before everything that `thread` does from now on?
  bool before(const ThreadOrder& thread, std::uint32_t id, Stamp at) const {
    if (id == thread.id || at < thread.grid_seen) return true;
    if (block_of(id) == block_of(thread.id)) {
      if (at < thread.block_seen) return true;
      if (id >> 5 == thread.warp) {
        if (at < thread.warp_seen) return true;
        if (thread.lanes && at < thread.lanes[id & 31]) return true;
      }
    }
    return thread.learned && before_by_atomics(thread, id, at);
  }

 private:
  struct Release {
    std::uint32_t version = 0, by = 0;
    FencePoint fenced[2];
    std::vector<Stamp> known[2];  // [threads] events of the block's others, from their own fences or arrivals
  };
  struct Location {
    std::uint32_t version = 0;
    std::vector<Release> releases;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> of_block;
  };

  Stamp next(Stamp now) {
    if (now + 1 > newest_) newest_ = now + 1;
    return now + 1;
  }
  bool before_by_atomics(const ThreadOrder& thread, std::uint32_t id, Stamp at) const;
  static bool covers(const Release& release, const ThreadOrder& to, std::uint32_t id, Stamp at);
  const Learned* join(const Learned* a, const Learned* b);
  void learn(ThreadOrder* thread, std::uint32_t location, std::uint32_t version);
  std::uint32_t new_location();
  void add_release(std::uint32_t location, Release release);

  Stamp newest_ = 0, grid_seen_ = 0;
  std::vector<std::unique_ptr<Learned>> pool_;
  std::vector<std::unique_ptr<Location>> locations_;
  std::unordered_map<std::uintptr_t, std::uint32_t> by_key_;
};

}  // namespace check
}  // namespace leap_cuda
