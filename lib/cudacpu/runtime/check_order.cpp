#ifdef LEAP_CHECKED
#include "check_order.h"

#include <algorithm>

namespace leap_cuda {
namespace check {

void Order::begin_launch() {
  pool_.clear();
  locations_.clear();
  by_key_.clear();
  grid_seen_ = ++newest_;
}

void Order::begin_block(BlockOrder* block, std::uint32_t number, unsigned threads) {
  block->number = number;
  block->threads = threads;
  block->begun = ++newest_;
  block->any_fence = block->any_learned = false;
  if (block->room < threads) {
    block->room = (threads + 31) / 32 * 32;
    block->thread = std::make_unique<ThreadOrder[]>(block->room);
    block->lane_rows.clear();
  }
  for (auto& arrived : block->arrived) arrived.clear();
  for (auto& location : block->barrier_location) location = 0;
  for (unsigned i = 0; i < threads; ++i) {
    ThreadOrder& t = block->thread[i];
    t = ThreadOrder();
    t.id = (number & 0x3fffff) << 10 | i;
    t.warp = t.id >> 5;
    t.lane_bit = 1u << (i & 31);
    t.now = t.begun = t.block_seen = t.warp_seen = block->begun;
    t.grid_seen = grid_seen_;
    t.block = block;
  }
}

void Order::block_sync(BlockOrder* block) {
  ThreadOrder* const begin = block->thread.get();
  ThreadOrder* const end = begin + block->threads;
  Stamp newest = 0;
  for (ThreadOrder* t = begin; t != end; ++t) newest = std::max(newest, t->now);
  const Stamp at = next(newest);
  const Learned* learned = nullptr;
  if (block->any_learned)
    for (ThreadOrder* t = begin; t != end; ++t) learned = join(learned, t->learned);
  for (ThreadOrder* t = begin; t != end; ++t) {
    t->now = t->block_seen = t->warp_seen = at;
    t->lanes = nullptr;
    t->learned = learned;
  }
}

void Order::warp_sync(BlockOrder* block, unsigned warp, unsigned mask, unsigned alive) {
  ThreadOrder* const first = block->thread.get() + warp * 32;
  Stamp newest = 0;
  const Learned* learned = nullptr;
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const ThreadOrder& t = first[__builtin_ctz(rest)];
    newest = std::max(newest, t.now);
    if (block->any_learned) learned = join(learned, t.learned);
  }
  const Stamp at = next(newest);
  if ((alive & ~mask) == 0) {
    for (unsigned rest = mask; rest; rest &= rest - 1) {
      ThreadOrder& t = first[__builtin_ctz(rest)];
      t.now = t.warp_seen = at;
      t.lanes = nullptr;
      t.learned = learned;
    }
    return;
  }
  if (block->lane_rows.empty()) block->lane_rows.resize(std::size_t{block->room} * 32);
  Stamp row[32] = {};
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const ThreadOrder& t = first[__builtin_ctz(rest)];
    for (unsigned k = 0; k < 32; ++k) row[k] = std::max(row[k], t.lanes ? t.lanes[k] : t.warp_seen);
  }
  for (unsigned rest = mask; rest; rest &= rest - 1) row[__builtin_ctz(rest)] = at;
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    ThreadOrder& t = first[lane];
    Stamp* const mine = block->lane_rows.data() + (warp * 32 + lane) * 32;
    std::copy(row, row + 32, mine);
    t.lanes = mine;
    t.now = at;
    t.learned = learned;
  }
}

// A barrier of part of a block is a location: arriving releases to it, leaving acquires from it.
void Order::arrive(ThreadOrder* thread, unsigned barrier) {
  thread->now = next(thread->now);
  thread->block->arrived[barrier].push_back({thread, thread->now});
}

void Order::barrier_sync(BlockOrder* block, unsigned barrier) {
  auto& arrived = block->arrived[barrier];
  if (arrived.empty()) return;
  Release release;
  release.by = arrived.front().first->id;
  std::vector<Stamp> known(block->room);
  const Learned* learned = nullptr;
  for (const auto& [thread, at] : arrived) {
    Stamp& own = known[thread->id & 1023];
    own = std::max(own, at);
    // What it knew of its warp goes along.
    const unsigned first = (thread->id & 1023) & ~31u;
    for (unsigned k = 0; k < 32; ++k) {
      const Stamp lane = thread->lanes ? std::max(thread->lanes[k], thread->warp_seen) : thread->warp_seen;
      known[first + k] = std::max(known[first + k], lane);
    }
    learned = join(learned, thread->learned);
  }
  for (FencePoint& point : release.fenced) {
    point.block_seen = arrived.front().first->block_seen;
    point.learned = learned;
  }
  release.known[0] = known;
  release.known[1] = std::move(known);
  std::uint32_t& location = block->barrier_location[barrier];
  if (!location) location = new_location();
  add_release(location, std::move(release));
  for (const auto& arrival : arrived) {
    ThreadOrder* const thread = arrival.first;
    thread->learned = join(thread->learned, learned);
    learn(thread, location, locations_[location]->version);
  }
  arrived.clear();
}

void Order::grid_sync(const std::vector<BlockOrder*>& blocks) {
  const Stamp at = grid_seen_ = ++newest_;
  for (BlockOrder* block : blocks) {
    for (unsigned i = 0; i < block->threads; ++i) {
      ThreadOrder& t = block->thread[i];
      t.now = t.grid_seen = t.block_seen = t.warp_seen = at;
      t.lanes = nullptr;
    }
  }
}

void Order::fence(ThreadOrder* thread, bool device) {
  thread->now = next(thread->now);
  FencePoint point;
  point.at = thread->now;
  point.block_seen = thread->block_seen;
  point.warp_seen = thread->warp_seen;
  point.learned = thread->learned;
  thread->fenced[0] = point;
  if (device) thread->fenced[1] = point;
  thread->block->any_fence = true;
}

void Order::release(ThreadOrder* thread, std::uintptr_t key) {
  BlockOrder* const block = thread->block;
  if (!block->any_fence) return;
  Release release;
  release.by = thread->id;
  release.fenced[0] = thread->fenced[0];
  release.fenced[1] = thread->fenced[1];
  bool useful = release.fenced[0].at != 0;
  // Others' fences that this thread knows of, through a barrier since.
  for (unsigned i = 0; i < block->threads; ++i) {
    const ThreadOrder& other = block->thread[i];
    if (other.id == thread->id) continue;
    for (int scope = 0; scope < 2; ++scope) {
      const Stamp fenced = other.fenced[scope].at;
      const bool known = fenced < thread->block_seen ||
                         (other.warp == thread->warp &&
                          (fenced < thread->warp_seen || (thread->lanes && fenced < thread->lanes[i & 31])));
      if (fenced == 0 || !known) continue;
      if (release.known[scope].empty()) release.known[scope].resize(block->room);
      release.known[scope][i] = fenced;
      useful = true;
    }
  }
  if (!useful) return;
  std::uint32_t& location = by_key_[key];
  if (!location) location = new_location();
  add_release(location, std::move(release));
}

void Order::acquire(ThreadOrder* thread, std::uintptr_t key) {
  if (by_key_.empty()) return;
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) learn(thread, found->second, locations_[found->second]->version);
}

std::uint32_t Order::new_location() {
  if (locations_.empty()) locations_.push_back(nullptr);  // 0 means none
  locations_.push_back(std::make_unique<Location>());
  return static_cast<std::uint32_t>(locations_.size() - 1);
}

void Order::add_release(std::uint32_t location, Release release) {
  Location& l = *locations_[location];
  auto& mine = l.of_block[block_of(release.by)];
  if (!mine.empty()) {
    const Release& last = l.releases[mine.back()];
    if (last.by == release.by && last.known[0] == release.known[0] && last.known[1] == release.known[1] &&
        last.fenced[0].at == release.fenced[0].at && last.fenced[1].at == release.fenced[1].at &&
        release.fenced[0].at != 0)
      return;
  }
  release.version = ++l.version;
  mine.push_back(static_cast<std::uint32_t>(l.releases.size()));
  l.releases.push_back(std::move(release));
}

const Learned* Order::join(const Learned* a, const Learned* b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto both = std::make_unique<Learned>();
  auto i = a->begin(), j = b->begin();
  bool all_of_a = true, all_of_b = true;
  while (i != a->end() || j != b->end()) {
    if (j == b->end() || (i != a->end() && i->first < j->first)) {
      both->push_back(*i++);
      all_of_b = false;
    } else if (i == a->end() || j->first < i->first) {
      both->push_back(*j++);
      all_of_a = false;
    } else {
      both->push_back(std::max(*i, *j));
      if (i->second < both->back().second) all_of_a = false;
      if (j->second < both->back().second) all_of_b = false;
      ++i;
      ++j;
    }
  }
  if (all_of_a) return a;
  if (all_of_b) return b;
  pool_.push_back(std::move(both));
  return pool_.back().get();
}

void Order::learn(ThreadOrder* thread, std::uint32_t location, std::uint32_t version) {
  if (thread->learned) {
    const auto at =
        std::lower_bound(thread->learned->begin(), thread->learned->end(), std::make_pair(location, 0u));
    if (at != thread->learned->end() && at->first == location && at->second >= version) return;
  }
  const Learned one{{location, version}};
  const Learned* joined = join(thread->learned, &one);
  if (joined == &one) {
    pool_.push_back(std::make_unique<Learned>(one));
    joined = pool_.back().get();
  }
  thread->learned = joined;
  thread->block->any_learned = true;
}

bool Order::covers(const Release& release, const ThreadOrder& to, std::uint32_t id, Stamp at) {
  const bool same_block = block_of(id) == block_of(to.id);
  const FencePoint& point = release.fenced[same_block ? 0 : 1];
  if (id == release.by && at < point.at) return true;
  if (at < point.block_seen) return true;
  if (id >> 5 == release.by >> 5 && at < point.warp_seen) return true;
  const std::vector<Stamp>& known = release.known[same_block ? 0 : 1];
  return (id & 1023) < known.size() && at < known[id & 1023];
}

bool Order::before_by_atomics(const ThreadOrder& thread, std::uint32_t id, Stamp at) const {
  Learned open = *thread.learned;
  std::unordered_map<std::uint32_t, std::uint32_t> seen;
  while (!open.empty()) {
    const auto [location, version] = open.back();
    open.pop_back();
    std::uint32_t& already = seen[location];
    if (version <= already) continue;
    const Location& l = *locations_[location];
    const auto mine = l.of_block.find(block_of(id));
    if (mine != l.of_block.end())
      for (const std::uint32_t i : mine->second)
        if (l.releases[i].version <= version && covers(l.releases[i], thread, id, at)) return true;
    for (std::uint32_t v = already; v < version; ++v) {
      const Release& release = l.releases[v];
      const Learned* const before =
          release.fenced[block_of(release.by) == block_of(thread.id) ? 0 : 1].learned;
      if (before) open.insert(open.end(), before->begin(), before->end());
    }
    already = version;
  }
  return false;
}

}  // namespace check
}  // namespace leap_cuda
#endif
