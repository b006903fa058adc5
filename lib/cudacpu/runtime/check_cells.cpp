#ifdef LEAP_CHECKED
#include "check_cells.h"

#include <cstdlib>
#include <cstring>

namespace leap_cuda {
namespace check {
namespace {
constexpr std::size_t kMostListed = 64;
constexpr std::uint32_t kSplitsAChunk = 1 << 12;
}  // namespace

void Cells::begin_launch() {
  lists_.clear();
  further_writers_.clear();
}

// Fills in `race` with a reader that does not come before the thread.
bool Cells::readers_before(const ThreadOrder& thread, const Cell& cell, bool others_only, Race* race) const {
  const auto not_before = [&](std::uint32_t id, Stamp at) {
    if ((others_only && id == thread.id) || order_->before(thread, id, at)) return false;
    race->other = id;
    race->other_known = true;
    return true;
  };
  switch (cell.readers) {
    case Readers::kLanes: {
      if (cell.reader == thread.warp ? cell.read < thread.warp_seen || cell.read < thread.block_seen
                                     : cell.reader >> 5 == thread.warp >> 5 && cell.read < thread.block_seen)
        return true;
      for (unsigned rest = cell.lanes; rest; rest &= rest - 1)
        if (not_before(cell.reader << 5 | static_cast<unsigned>(__builtin_ctz(rest)), cell.read))
          return false;
      return true;
    }
    case Readers::kListed:
      for (const Reading& reading : lists_[cell.reader])
        if (not_before(reading.id, reading.at)) return false;
      return true;
    case Readers::kWarps:
      return (cell.reader == thread.warp >> 5 && cell.read < thread.block_seen) || thread.learned != nullptr;
    case Readers::kBlocks:
      return thread.learned != nullptr;
  }
  return true;
}

void Cells::add_reader(const ThreadOrder& thread, Cell* cell, Stamp from) {
  const auto alone = [&] {
    cell->readers = Readers::kLanes;
    cell->reader = thread.warp;
    cell->read = thread.now;
    cell->lanes = thread.lane_bit;
  };
  const auto newer = [&] {
    if (cell->read < thread.now) cell->read = thread.now;
  };
  if (cell->read < from) return alone();
  switch (cell->readers) {
    case Readers::kLanes: {
      if (cell->reader == thread.warp) {
        if (cell->read == thread.now) {
          cell->lanes |= thread.lane_bit;
          return;
        }
        Race ignored;
        if (readers_before(thread, *cell, true, &ignored)) return alone();
        std::vector<Reading> list;
        for (unsigned rest = cell->lanes & ~thread.lane_bit; rest; rest &= rest - 1)
          list.push_back({cell->reader << 5 | static_cast<unsigned>(__builtin_ctz(rest)), cell->read});
        list.push_back({thread.id, thread.now});
        cell->readers = Readers::kListed;
        cell->reader = static_cast<std::uint32_t>(lists_.size());
        newer();
        lists_.push_back(std::move(list));
        return;
      }
      if (cell->reader >> 5 == thread.warp >> 5) {
        if (cell->read < thread.block_seen) return alone();
        cell->lanes = 1u << (cell->reader & 31) | 1u << (thread.warp & 31);
        cell->reader = thread.warp >> 5;
        cell->readers = Readers::kWarps;
      } else {
        Race ignored;
        if (thread.learned && readers_before(thread, *cell, true, &ignored)) return alone();
        cell->readers = Readers::kBlocks;
      }
      return newer();
    }
    case Readers::kListed: {
      std::vector<Reading>& list = lists_[cell->reader];
      Race ignored;
      if (readers_before(thread, *cell, true, &ignored)) return alone();
      const std::uint32_t some = list.front().id;
      newer();
      if (some >> 5 == thread.warp) {
        for (Reading& reading : list)
          if (reading.id == thread.id) {
            reading.at = thread.now;
            return;
          }
        if (list.size() < kMostListed) {
          list.push_back({thread.id, thread.now});
          return;
        }
      }
      const bool one_block = block_of(some) == block_of(thread.id);
      cell->readers = one_block ? Readers::kWarps : Readers::kBlocks;
      cell->reader = block_of(some);
      cell->lanes = ~0u;
      return;
    }
    case Readers::kWarps:
      if (cell->reader == thread.warp >> 5) {
        if (cell->read < thread.block_seen) return alone();
        cell->lanes |= 1u << (thread.warp & 31);
      } else {
        cell->readers = Readers::kBlocks;
      }
      return newer();
    case Readers::kBlocks:
      return newer();
  }
}

Race Cells::read(const ThreadOrder& thread, Cell* cell, Stamp from) {
  Race race;
  if (cell->written >= from && cell->writer != thread.id &&
      !order_->before(thread, cell->writer, cell->written) && cell->writers < kUnchanged &&
      !(cell->writers != kOne && further_writers_.count(further_writer(cell, thread.id)))) {
    race.conflict = Conflict::kReadAfterWrite;
    race.other = cell->writer;
    race.other_known = true;
  }
  if (cell->read == thread.now && cell->readers == Readers::kLanes && cell->reader == thread.warp)
    cell->lanes |= thread.lane_bit;
  else
    add_reader(thread, cell, from);
  return race;
}

Race Cells::atomic(const ThreadOrder& thread, Cell* cell, Stamp from) {
  Race race;
  if (cell->written >= from && cell->writer != thread.id && cell->writers < kUnchanged &&
      !order_->before(thread, cell->writer, cell->written)) {
    race.conflict = Conflict::kAtomicAfterWrite;
    race.other = cell->writer;
    race.other_known = true;
  }
  cell->atomic_by = thread.id;
  cell->atomic = thread.now;
  return race;
}

Race Cells::write(const ThreadOrder& thread, Cell* cell, Stamp from, bool changed, bool shared) {
  Race race;
  const auto found = [&](Conflict conflict, std::uint32_t other) {
    race.conflict = conflict;
    race.other = other;
    race.other_known = true;
  };
  const bool written = cell->written >= from;
  const bool own_block = written && block_of(cell->writer) == block_of(thread.id);
  const bool after =
      !written || cell->writer == thread.id || order_->before(thread, cell->writer, cell->written);
  if (!changed) {
    if (!after) {
      further_writers_.insert(further_writer(cell, thread.id));
      const bool one_block = own_block && (cell->writers & 3) != kSeveralBlocks;
      cell->writers =
          static_cast<std::uint8_t>((cell->writers & kUnchanged) | (one_block ? kSeveral : kSeveralBlocks));
      if (own_block && cell->written < thread.now) cell->written = thread.now;
    } else if (!written || (shared && cell->written < thread.block_seen)) {
      cell->writer = thread.id;
      cell->written = thread.now;
      cell->writers = kOne | kUnchanged;
    }
    return race;
  }
  if (!after) {
    found(Conflict::kWriteAfterWrite, cell->writer);
  } else if (written && (cell->writers & 3) != kOne && !thread.learned &&
             !((cell->writers & 3) == kSeveral && own_block && cell->written < thread.block_seen)) {
    race.conflict = Conflict::kWriteAfterWrite;
  }
  if (cell->atomic >= from && race.conflict == Conflict::kNone && cell->atomic_by != thread.id &&
      !order_->before(thread, cell->atomic_by, cell->atomic))
    found(Conflict::kWriteAfterAtomic, cell->atomic_by);
  if (cell->read >= from && race.conflict == Conflict::kNone && !readers_before(thread, *cell, true, &race))
    race.conflict = Conflict::kWriteAfterRead;
  cell->writer = thread.id;
  cell->written = thread.now;
  cell->writers = kOne;
  cell->read = 0;
  cell->atomic = 0;
  return race;
}

Cell* Cells::bytes_of(Cell* cell, Stamp from) {
  if (!cell->split) {
    std::uint32_t index;
    if (!free_splits_.empty()) {
      index = free_splits_.back();
      free_splits_.pop_back();
    } else {
      index = splits_++;
      if (index / kSplitsAChunk == split_chunks_.size())
        split_chunks_.push_back(static_cast<Cell*>(std::calloc(kSplitsAChunk * 4, sizeof(Cell))));
    }
    Cell* const bytes = split_chunks_[index / kSplitsAChunk] + index % kSplitsAChunk * 4;
    for (int i = 0; i < 4; ++i) {
      bytes[i] = *cell;
      // A list of readers belongs to one cell.
      if (cell->readers == Readers::kListed && cell->read >= from) {
        bytes[i].reader = static_cast<std::uint32_t>(lists_.size());
        lists_.push_back(lists_[cell->reader]);
      }
    }
    for (int i = 0; i < 4; ++i) bytes[i].writers &= kUnchanged;
    cell->split = true;
    cell->writer = index;
  }
  return split_chunks_[cell->writer / kSplitsAChunk] + cell->writer % kSplitsAChunk * 4;
}

bool Cells::unsplit(Cell* cell, Stamp from) {
  const Cell* const bytes = bytes_of(cell, from);
  for (int i = 0; i < 4; ++i)
    if (bytes[i].written >= from || bytes[i].read >= from || bytes[i].atomic >= from) return false;
  free_splits_.push_back(cell->writer);
  const bool released = cell->released;
  std::memset(static_cast<void*>(cell), 0, sizeof(Cell));
  cell->released = released;
  return true;
}

}  // namespace check
}  // namespace leap_cuda
#endif
