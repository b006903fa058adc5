// Device memory: one range of addresses that the host cannot touch, one that it can.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "internal.h"

namespace leap_cuda {
namespace {

constexpr std::size_t kChunk = 16 << 20;

struct Range {
  unsigned char* base;
  bool locked;  // out of reach outside of launches
  std::size_t extent = 0, mapped = 0;
  std::multimap<std::size_t, unsigned char*> free_spans;
};

std::mutex memory_mutex;
Range device{reinterpret_cast<unsigned char*>(0x500000000000), true};
Range managed{reinterpret_cast<unsigned char*>(0x580000000000), false};
std::map<unsigned char*, Allocation> allocations;  // by their first byte
std::size_t bytes_used = 0;
int unlocked = 0;
thread_local int unlocked_here = 0;

std::size_t span_of(std::size_t bytes) {
  return kGuard + (bytes + 255) / 256 * 256 + kGuard;
}

/// A span at the end of a range, or one that was free.
unsigned char* take_span(Range& range, std::size_t bytes) {
  const auto old = range.free_spans.find(bytes);
  if (old != range.free_spans.end()) {
    unsigned char* at = old->second;
    range.free_spans.erase(old);
    return at;
  }
  if (range.extent + bytes > range.mapped) {
    const std::size_t more = (range.extent + bytes - range.mapped + kChunk - 1) / kChunk * kChunk;
    void* at =
        mmap(range.base + range.mapped, more, range.locked && !unlocked ? PROT_NONE : PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != range.base + range.mapped) return nullptr;
    range.mapped += more;
  }
  unsigned char* at = range.base + range.extent;
  range.extent += bytes;
  return at;
}

void protect(int protection) {
  if (device.mapped) mprotect(device.base, (device.extent + 4095) / 4096 * 4096, protection);
}

}  // namespace

unsigned char* device_base() {
  return device.base;
}
std::size_t device_extent() {
  return device.extent;
}
unsigned char* managed_base() {
  return managed.base;
}
std::size_t managed_extent() {
  return managed.extent;
}

bool in_device_range(const void* at) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(at) - device.base) < device.mapped;
}

bool in_managed_range(const void* at) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(at) - managed.base) < managed.mapped;
}

std::size_t device_bytes_in_all() {
  const std::size_t mb = settings().memory_mb ? settings().memory_mb : 2048;
  return mb << 20;
}
std::size_t device_bytes_used() {
  return bytes_used;
}

bool find_allocation(const void* at, Allocation* out) {
  std::lock_guard<std::mutex> lock(memory_mutex);
  auto next = allocations.upper_bound(static_cast<unsigned char*>(const_cast<void*>(at)));
  if (next == allocations.begin()) return false;
  --next;
  const Allocation& allocation = next->second;
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - allocation.at);
  if (offset >= allocation.bytes && !(offset == 0 && allocation.bytes == 0)) return false;
  *out = allocation;
  return true;
}

void* device_allocate(std::size_t bytes, Allocation::Kind kind) {
  const Unlocked unlocked_now;
  const bool for_host = kind == Allocation::kManaged || kind == Allocation::kPinned;
  unsigned char* at;
  {
    std::lock_guard<std::mutex> lock(memory_mutex);
    if (kind != Allocation::kBuffer &&
        (bytes > device_bytes_in_all() || bytes_used + bytes > device_bytes_in_all()))
      return nullptr;
    unsigned char* span = take_span(for_host ? managed : device, span_of(bytes));
    if (!span) return nullptr;
    at = span + kGuard;
    allocations[at] = {at, bytes, kind};
    if (kind != Allocation::kBuffer) bytes_used += bytes;
  }
  std::memset(at - kGuard, 0xff, span_of(bytes));
  check::allocated(at, bytes, kind);
  return at;
}

bool device_free(void* at) {
  std::size_t bytes;
  {
    std::lock_guard<std::mutex> lock(memory_mutex);
    const auto found = allocations.find(static_cast<unsigned char*>(at));
    if (found == allocations.end()) return false;
    const Allocation allocation = found->second;
    bytes = allocation.bytes;
    if (allocation.kind != Allocation::kBuffer) bytes_used -= bytes;
    Range& range = in_managed_range(at) ? managed : device;
#ifndef LEAP_CHECKED  // there, addresses are not used twice
    range.free_spans.emplace(span_of(bytes), allocation.at - kGuard);
#else
    (void)range;
#endif
    allocations.erase(found);
  }
  check::freed(at, bytes);
  return true;
}

void* heap_malloc(std::size_t bytes) {
  return in_kernel() ? device_allocate(bytes ? bytes : 1, Allocation::kDevice) : std::malloc(bytes);
}

void heap_free(void* at) {
  if (!at) return;
  if (in_device_range(at))
    device_free(at);
  else
    std::free(at);
}

Unlocked::Unlocked() {
  if (unlocked_here++ > 0) return;
  std::lock_guard<std::mutex> lock(memory_mutex);
  if (unlocked++ == 0) protect(PROT_READ | PROT_WRITE);
}

Unlocked::~Unlocked() {
  if (--unlocked_here > 0) return;
  std::lock_guard<std::mutex> lock(memory_mutex);
  if (--unlocked == 0) protect(PROT_NONE);
}

}  // namespace leap_cuda

// What device code made with new ends here as well.
void operator delete(void* at) noexcept {
  leap_cuda::heap_free(at);
}
void operator delete[](void* at) noexcept {
  leap_cuda::heap_free(at);
}
void operator delete(void* at, std::size_t) noexcept {
  leap_cuda::heap_free(at);
}
void operator delete[](void* at, std::size_t) noexcept {
  leap_cuda::heap_free(at);
}
