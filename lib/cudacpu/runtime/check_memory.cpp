#ifdef LEAP_CHECKED
#include "check_memory.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "check_lines.h"

namespace leap_cuda {
namespace check {

void set_addressable(std::uint8_t* valid, std::size_t offset, std::size_t bytes, bool on) {
  if (bytes == 0) return;
  // Ranges begin at multiples of 8 or share their first group with what lies before.
  const std::size_t end = offset + bytes, first = offset >> 3, last = end >> 3;
  std::memset(valid + first, on ? 8 : 0, last - first);
  if (end & 7) valid[last] = on ? std::max(valid[last], static_cast<std::uint8_t>(end & 7)) : std::uint8_t{0};
}

void* reserve(std::size_t bytes) {
  void* const at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();
  return at;
}

void DeviceShadow::set(std::size_t offset, std::size_t bytes, bool on) {
  constexpr std::size_t kBytes = kPieceBytes;
  while (bytes != 0) {
    const std::size_t i = offset >> kShift, within = offset & (kBytes - 1);
    const std::size_t now = std::min(bytes, kBytes - within);
    if (i >= pieces_.size()) {
      pieces_.resize(i + 1);
      span_ = (i + 1) * kBytes;
    }
    Piece& piece = pieces_[i];
    if (!piece.valid) {
      piece.valid = static_cast<std::uint8_t*>(reserve(kBytes / 8));
      piece.cells = static_cast<Cell*>(reserve(kBytes / 4 * sizeof(Cell)));
    }
    set_addressable(piece.valid, within, now, on);
    offset += now;
    bytes -= now;
  }
}

void DataShadow::find() {
  if (from != 0) return;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* out) {
        auto* const self = static_cast<DataShadow*>(out);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
          const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
          const std::uintptr_t old_end = self->from + self->bytes;
          if (self->from == 0) self->from = begin & ~std::uintptr_t{7};
          self->bytes = std::max(old_end, end) - self->from;
        }
        return 1;
      },
      this);
  cells = static_cast<Cell*>(reserve((bytes / 4 + 16) * sizeof(Cell)));
  for (const ToldVariable& told : told_variables())
    variables[reinterpret_cast<std::uintptr_t>(told.at)] = {told.bytes, told.name, told.managed};
}

const DataShadow::Variable* DataShadow::variable_at(std::uintptr_t address) {
  if (address - last_at_ < last_bytes_) return last_;
  auto next = variables.upper_bound(address);
  if (next == variables.begin()) return nullptr;
  --next;
  if (address >= next->first + next->second.bytes) return nullptr;
  last_at_ = next->first;
  last_bytes_ = next->second.bytes;
  return last_ = &next->second;
}

std::vector<ToldVariable>& told_variables() {
  static std::vector<ToldVariable> variables;
  return variables;
}

}  // namespace check
}  // namespace leap_cuda
#endif
