#ifdef LEAP_CHECKED
#include "check_access.h"

#include <link.h>

#include <algorithm>
#include <cstring>

#include "check_lines.h"

namespace leap_cuda {
namespace check {
namespace {

constexpr std::size_t kMostReports = 16;

const char* verb(Access kind) {
  return kind == Access::kRead                                       ? "reads"
         : kind == Access::kAtomic || kind == Access::kAtomicRelease ? "updates"
                                                                     : "writes";
}

std::string count_of(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

int line_of(Caller caller) {
  return caller.line ? caller.line : line_of(caller.address, caller.frame);
}

Checker::Checker() {
  arena = static_cast<unsigned char*>(reserve(kArena));
  arena_valid = static_cast<std::uint8_t*>(reserve(kArena / 8));
  device_from_ = reinterpret_cast<std::uintptr_t>(device_base());
  std::size_t bytes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* out) {
        for (int i = 0; i < object->dlpi_phnum; ++i)
          if (object->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<std::size_t*>(out) =
                (object->dlpi_phdr[i].p_memsz + object->dlpi_phdr[i].p_align) / 64 * 64 + 64;
        return 1;
      },
      &bytes);
  thread_local_bytes_ = bytes + 64;
  thread_local_from_ = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()) - bytes;
}

std::string Checker::describe_thread(std::uint32_t id) const {
  const dim3& size = launch->block;
  const unsigned n = id & 1023;
  return "thread (" + std::to_string(n % size.x) + "," + std::to_string(n / size.x % size.y) + "," +
         std::to_string(n / size.x / size.y) + ")";
}

void Checker::report(const char* kind, int line, const std::string& message, Caller caller, bool is_fatal) {
  if (line == 0) line = line_of(caller);
  std::string whole = message;
  if (block && running) {
    const uint3& b = block->block->index;
    whole = describe_thread(running->id) + " of block (" + std::to_string(b.x) + "," + std::to_string(b.y) +
            "," + std::to_string(b.z) + ") " + message;
  }
  if (is_fatal) fatal(kind, line, whole);
  note(kind, line, whole);
}

std::string Checker::name_of(const void* at, Where where) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (where == Where::kShared) {
    const std::size_t offset = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - arena);
    for (const SharedVariable& variable : shared)
      if (offset >= variable.offset && offset < variable.offset + variable.bytes)
        return "shared array " + variable.name + " + " + count_of(offset - variable.offset, "byte");
    return "shared memory";
  }
  if (where == Where::kData) {
    auto next = data.variables.upper_bound(address);
    if (next == data.variables.begin()) return "a device variable";
    --next;
    return "device variable " + next->second.name + " + " + count_of(address - next->first, "byte");
  }
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return "device memory";
  --next;
  return "a device array of " + count_of(next->second.first, "byte") + ", at " +
         count_of(address - next->first, "byte");
}

void Checker::found(const Race& race, const ThreadOrder& thread, const void* at, Where where, Caller caller) {
  if (reported.size() >= kMostReports) return;
  const int line = line_of(caller);
  if (!reported.insert({reinterpret_cast<const void*>(static_cast<std::uintptr_t>(line)), 1}).second) return;
  const char* mine = "writes";
  const char* theirs = "written";
  switch (race.conflict) {
    case Conflict::kReadAfterWrite:
      mine = "reads";
      break;
    case Conflict::kWriteAfterRead:
      theirs = "read";
      break;
    case Conflict::kAtomicAfterWrite:
      mine = "updates atomically";
      break;
    case Conflict::kWriteAfterAtomic:
      theirs = "updated atomically";
      break;
    default:
      break;
  }
  std::string message = std::string(mine) + " " + name_of(at, where) + ", " + theirs + " by ";
  if (!race.other_known) {
    message += "other threads";
  } else if (block_of(race.other) == block_of(thread.id)) {
    message += describe_thread(race.other) + " of the same block";
  } else {
    message += "a thread of another block";
  }
  message += " without synchronisation between them";
  ThreadOrder* const before = running;
  running = const_cast<ThreadOrder*>(&thread);
  report("race", line, message, caller, false);
  running = before;
}

void Checker::on_words(unsigned char* at, std::size_t bytes, Cell* words, Where where, Access kind,
                       Caller caller) {
  ThreadOrder& thread = *running;
  const bool is_shared = where == Where::kShared;
  const Stamp from = is_shared ? thread.block->begun : thread.grid_seen;
  const auto one = [&](Cell* cell) -> Race {
    if (kind == Access::kRead) {
      if (is_shared && cell->written < from && cell->atomic < from &&
          reported.insert({caller.address, 2}).second)
        report("uninitialised", 0, "reads " + name_of(at, where) + ", which no thread has written", caller,
               false);
      return cells.read(thread, cell, from);
    }
    return cells.atomic(thread, cell, from);
  };
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t end = address + bytes;
  if (kind == Access::kRead ? words->released : kind == Access::kAtomic || kind == Access::kAtomicRelease)
    if (words->released) order.acquire(&thread, address & ~std::uintptr_t{3});
  for (std::uintptr_t word = address & ~std::uintptr_t{3}; word < end; word += 4, ++words) {
    const bool whole = word >= address && word + 4 <= end;
    Race race;
    if (whole && (!words->split || cells.unsplit(words, from))) {
      race = one(words);
    } else {
      Cell* const parts = cells.bytes_of(words, from);
      for (std::uintptr_t byte = std::max(word, address); byte < std::min(word + 4, end); ++byte) {
        const Race r = one(parts + (byte & 3));
        if (r.conflict != Conflict::kNone) race = r;
      }
    }
    if (race.conflict != Conflict::kNone)
      found(race, thread, reinterpret_cast<const void*>(std::max(word, address)), where, caller);
  }
}

void Checker::announce_store(unsigned char* at, std::size_t bytes, Cell* words, Where where, Caller caller) {
  store_.active = true;
  store_.kept = false;
  store_.whole = bytes > sizeof(store_.old);
  store_.where = where;
  store_.thread = running;
  store_.at = at;
  store_.bytes = bytes;
  store_.cells = words;
  store_.caller = caller;
  if (!store_.whole) std::memcpy(store_.old, at, bytes);
}

void Checker::finish_words() {
  ThreadOrder& thread = *store_.thread;
  const bool is_shared = store_.where == Where::kShared;
  const Stamp from = is_shared ? thread.block->begun : thread.grid_seen;
  const auto address = reinterpret_cast<std::uintptr_t>(store_.at);
  const std::uintptr_t end = address + store_.bytes;
  const auto one = [&](Cell* cell, std::size_t offset, std::size_t bytes) {
    const bool changed = store_.whole || std::memcmp(store_.old + offset, store_.at + offset, bytes) != 0 ||
                         (is_shared && cell->written < from);
    return cells.write(thread, cell, from, changed, is_shared);
  };
  Cell* words = store_.cells;
  for (std::uintptr_t word = address & ~std::uintptr_t{3}; word < end; word += 4, ++words) {
    const bool whole = word >= address && word + 4 <= end;
    Race race;
    if (whole && (!words->split || cells.unsplit(words, from))) {
      race = one(words, word - address, 4);
    } else {
      Cell* const parts = cells.bytes_of(words, from);
      for (std::uintptr_t byte = std::max(word, address); byte < std::min(word + 4, end); ++byte) {
        const Race r = one(parts + (byte & 3), byte - address, 1);
        if (r.conflict != Conflict::kNone) race = r;
      }
    }
    if (race.conflict != Conflict::kNone)
      found(race, thread, reinterpret_cast<const void*>(std::max(word, address)), store_.where,
            store_.caller);
  }
}

void Checker::access(void* at, std::size_t bytes, Access kind, Caller caller) {
  if (store_.active) settle_before(kind, at, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto* const byte = static_cast<unsigned char*>(at);
  Where where;
  const std::uint8_t* valid;
  Cell* words;
  std::size_t offset = address - device_from_;
  if (const DeviceShadow::Piece* const piece = device.piece(offset)) {
    offset &= DeviceShadow::kPieceBytes - 1;
    where = Where::kDevice;
    valid = piece->valid;
    words = piece->cells;
    if (offset + bytes > DeviceShadow::kPieceBytes) {
      // Over the edge of a piece: in two parts.
      const std::size_t first = DeviceShadow::kPieceBytes - offset;
      access(at, first, kind, caller);
      return access(byte + first, bytes - first, kind, caller);
    }
  } else if (in_device_range(at)) {
    outside(at, bytes, kind, Where::kDevice, caller);
  } else if ((offset = static_cast<std::size_t>(byte - arena)) < kArena) {
    where = Where::kShared;
    valid = arena_valid;
    words = block->shared;
  } else {
    const Fiber* const fiber = running_fiber();
    if (static_cast<std::size_t>(byte - fiber->stack) < fiber->stack_bytes) return;
    if (address - thread_local_from_ < thread_local_bytes_) return;
    const auto body = reinterpret_cast<std::uintptr_t>(launch->body);
    if (address - body < launch->kernel->body_bytes) return;
    if (data.from == 0) data.find();
    offset = address - data.from;
    if (offset >= data.bytes) return elsewhere(at, bytes, kind, caller);
    const DataShadow::Variable* const variable = data.variable_at(address);
    if (!variable || address + bytes > data.beginning() + variable->bytes)
      return elsewhere(at, bytes, kind, caller);
    where = Where::kData;
    valid = nullptr;
    words = data.cells;
  }
  if (valid && (offset & 7) + bytes > valid[offset >> 3] && !addressable(valid, offset, bytes))
    outside(at, bytes, kind, where, caller);
  if (index_.active) settle_index(byte, bytes, where, caller);
  words += offset >> 2;
  switch (kind) {
    case Access::kVolatileWrite:
      // A flag that publishes what was fenced before.
      if (running->fenced[0].at == 0) return announce_store(byte, bytes, words, where, caller);
      on_words(byte, bytes, words, where, Access::kAtomic, caller);
      words->released = true;
      order.release(running, address & ~std::uintptr_t{3});
      return;
    case Access::kWrite:
      return announce_store(byte, bytes, words, where, caller);
    case Access::kAtomicRelease:
      order.fence(running, true);
      [[fallthrough]];
    case Access::kAtomic:
      on_words(byte, bytes, words, where, kind, caller);
      if (running->block->any_fence) {
        words->released = true;
        order.release(running, address & ~std::uintptr_t{3});
      }
      return;
    case Access::kRead:
      on_words(byte, bytes, words, where, kind, caller);
  }
}

void Checker::outside(void* at, std::size_t bytes, Access kind, Where where, Caller caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::string message = std::string(verb(kind)) + " " + count_of(bytes, "byte") + " ";
  if (where == Where::kShared) {
    const std::size_t offset = static_cast<std::size_t>(static_cast<unsigned char*>(at) - arena);
    const SharedVariable* nearest = nullptr;
    std::size_t distance = ~std::size_t{0};
    for (const SharedVariable& v : shared) {
      const std::size_t d = offset < v.offset ? v.offset - offset : offset + bytes - (v.offset + v.bytes);
      if (d < distance) {
        distance = d;
        nearest = &v;
      }
    }
    if (nearest)
      message += (offset < nearest->offset ? "before shared array " : "beyond the end of shared array ") +
                 nearest->name + " (" + count_of(nearest->bytes, "byte") + ")";
    else
      message += "of shared memory that it does not have";
  } else {
    auto next = allocations.upper_bound(address);
    const auto following = next;
    const bool close_before = following != allocations.end() && following->first - address <= 256;
    if (next != allocations.begin() && !(--next)->second.second && address < next->first + next->second.first)
      message += "of device memory that has been freed";
    else if (close_before)
      message += "before the beginning of a device array of " + count_of(following->second.first, "byte");
    else if (next != allocations.end() && next->first <= address)
      message += "beyond the end of a device array of " + count_of(next->second.first, "byte");
    else
      message += "outside every device array";
  }
  report("out_of_bounds", 0, message, caller, true);
  __builtin_unreachable();
}

// Neither device nor shared memory nor the thread's own.
void Checker::elsewhere(void* at, std::size_t bytes, Access kind, Caller caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::string what = std::string(verb(kind)) + " " + count_of(bytes, "byte") + " ";
  if (address < 65536) report("device_fault", 0, what + "through a null pointer", caller, true);
  if (address - data.from < data.bytes) {
    auto next = data.variables.upper_bound(address);
    if (next != data.variables.begin()) {
      --next;
      if (address < next->first + next->second.bytes + 64)
        report("out_of_bounds", 0,
               what + "beyond the end of device variable " + next->second.name + " (" +
                   count_of(next->second.bytes, "byte") + ")",
               caller, true);
    }
    const std::vector<DataSymbol>& symbols = data_symbols();
    auto symbol = std::upper_bound(symbols.begin(), symbols.end(), address,
                                   [](std::uintptr_t a, const DataSymbol& b) { return a < b.at; });
    if (symbol != symbols.begin() && address < (--symbol)->at + symbol->bytes && !symbol->of_function)
      report("device_fault", 0, what + "of " + symbol->name + ", a variable of the host", caller, true);
    return;
  }
  // Constants of the program may be read.
  struct Search {
    std::uintptr_t address;
    bool constant;
  } search{address, false};
  if (kind == Access::kRead)
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* out) {
          auto& s = *static_cast<Search*>(out);
          for (int i = 0; i < object->dlpi_phnum; ++i) {
            const auto& segment = object->dlpi_phdr[i];
            const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
            if (segment.p_type == PT_LOAD && s.address >= begin && s.address < begin + segment.p_memsz)
              s.constant = true;
          }
          return 0;
        },
        &search);
  if (search.constant) return;
  report("device_fault", 0, what + "at an address that is not device memory (a host pointer, or a wild one)",
         caller, true);
}

void Checker::host_access(void* at, std::size_t bytes, bool write, Caller caller) {
  const char* const verb = write ? "writes" : "reads";
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (data.from == 0) data.find();
  if (address - data.from < data.bytes) {
    const DataShadow::Variable* const variable = data.variable_at(address);
    if (variable && !variable->managed)
      report("device_fault", 0,
             std::string("host code ") + verb + " device variable " + variable->name +
                 " itself; copy it with cudaMemcpyToSymbol or cudaMemcpyFromSymbol",
             caller, true);
    return;
  }
  if (!in_device_range(at)) return;
  report("device_fault", 0,
         std::string("host code ") + verb + " " + count_of(bytes, "byte") +
             " of device memory; copy it with cudaMemcpy",
         caller, true);
}

void Checker::misaligned(int line, Caller caller, const char* type) {
  settle();
  report("device_fault", line, "uses a misaligned address for " + std::string(type), caller, true);
}

// `array`: the type, as 'float [33]' or 'float [32][33]'.
void Checker::bad_index(int line, std::int64_t index, const char* array, Caller caller) {
  settle();
  const char* const bracket = std::strchr(array, '[');
  if (!bracket) return;
  std::size_t extent = 0;
  for (const char* c = bracket + 1; *c >= '0' && *c <= '9'; ++c)
    extent = extent * 10 + static_cast<std::size_t>(*c - '0');
  index_.active = true;
  index_.line = line;
  index_.index = index;
  index_.extent = extent;
  index_.caller = caller;
  // A further dimension, or no array of several rows of this length: nothing it could land in.
  const auto rows = [&](std::size_t bytes) {
    return extent != 0 && bytes / extent > 16 && bytes % extent == 0;
  };
  bool several = false;
  for (const SharedVariable& variable : shared) several |= rows(variable.bytes);
  if (data.from == 0) data.find();
  for (const auto& variable : data.variables) several |= rows(variable.second.bytes);
  if (std::strchr(bracket + 1, '[') || !several) finish_index();
}

void Checker::settle_index(const unsigned char* at, std::size_t bytes, Where where, Caller caller) {
  const auto lands = [&](std::size_t offset, std::size_t size) {
    const std::size_t row = index_.extent * bytes;
    return size > row && size % row == 0 &&
           (static_cast<std::int64_t>(offset) - index_.index * static_cast<std::int64_t>(bytes)) %
                   static_cast<std::int64_t>(row) ==
               0;
  };
  bool row_of_it = false;
  if (where == Where::kShared) {
    const auto offset = static_cast<std::size_t>(at - arena);
    for (const SharedVariable& v : shared)
      row_of_it |= offset >= v.offset && offset < v.offset + v.bytes && lands(offset - v.offset, v.bytes);
  } else if (where == Where::kData) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    auto next = data.variables.upper_bound(address);
    row_of_it = next != data.variables.begin() && (--next, lands(address - next->first, next->second.bytes));
  }
  if (row_of_it)
    index_.active = false;
  else if (line_of(caller) != index_.line)
    finish_index();
}

void Checker::finish_index() {
  index_.active = false;
  report("out_of_bounds", index_.line,
         "uses an index outside an array's dimension of " + std::to_string(index_.extent), index_.caller,
         true);
}

}  // namespace check
}  // namespace leap_cuda
#endif
