#ifdef LEAP_CHECKED
#include "check_lines.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace leap_cuda {
namespace check {
namespace {

struct Row {
  std::uintptr_t at;
  int line;  // 0: not the candidate's
  bool end;
};

struct Reader {
  const unsigned char* at;
  const unsigned char* end;
  template <class T>
  T number() {
    T value{};
    if (static_cast<std::size_t>(end - at) < sizeof(T)) {
      at = end;
      return value;
    }
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
  }
  std::uint64_t leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
      const unsigned char byte = *at++;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }
  std::int64_t signed_leb() {
    std::int64_t value = 0;
    unsigned shift = 0;
    while (at < end && shift < 64) {
      const unsigned char byte = *at++;
      value |= static_cast<std::int64_t>(byte & 0x7f) << shift;
      shift += 7;
      if (!(byte & 0x80)) {
        if (shift < 64 && (byte & 0x40)) value |= -(std::int64_t{1} << shift);
        break;
      }
    }
    return value;
  }
  const char* text() {
    const char* const begin = reinterpret_cast<const char*>(at);
    while (at < end && *at) ++at;
    if (at == end) return "";
    ++at;
    return begin;
  }
};

// One sequence of statements per compilation unit: DWARF 4, section 6.2.
void read_unit(Reader unit, unsigned version, std::uintptr_t base, std::vector<Row>* rows) {
  const std::uint32_t header_length = unit.number<std::uint32_t>();
  if (header_length > static_cast<std::size_t>(unit.end - unit.at)) return;
  Reader program{unit.at + header_length, unit.end};
  const unsigned least = unit.number<std::uint8_t>();
  if (version >= 4) unit.number<std::uint8_t>();  // operations an instruction
  unit.number<std::uint8_t>();                    // default is_stmt
  const int line_base = unit.number<std::int8_t>();
  const unsigned line_range = unit.number<std::uint8_t>();
  const unsigned opcode_base = unit.number<std::uint8_t>();
  if (line_range == 0 || opcode_base == 0) return;
  std::vector<unsigned> operands(opcode_base);
  for (unsigned i = 1; i < opcode_base; ++i) operands[i] = unit.number<std::uint8_t>();
  std::vector<std::string> directories{"."};
  for (const char* d = unit.text(); *d; d = unit.text()) directories.push_back(d);
  std::vector<bool> candidate{false};
  const auto add_file = [&](const char* name, std::uint64_t directory) {
    const std::string whole =
        name[0] == '/' || directory >= directories.size() ? name : directories[directory] + "/" + name;
    candidate.push_back(is_candidate_file(whole.c_str()));
  };
  for (const char* f = unit.text(); *f; f = unit.text()) {
    const std::uint64_t directory = unit.leb();
    unit.leb();
    unit.leb();
    add_file(f, directory);
  }
  std::uintptr_t at = 0;
  std::uint64_t file = 1;
  std::int64_t line = 1;
  const auto emit = [&](bool end) {
    const bool known = file < candidate.size() && candidate[file];
    rows->push_back({base + at, known ? static_cast<int>(line) : 0, end});
  };
  while (program.at < program.end) {
    const unsigned opcode = program.number<std::uint8_t>();
    if (opcode >= opcode_base) {
      at += static_cast<std::uintptr_t>((opcode - opcode_base) / line_range) * least;
      line += line_base + static_cast<int>((opcode - opcode_base) % line_range);
      emit(false);
      continue;
    }
    switch (opcode) {
      case 0: {
        const std::uint64_t length = program.leb();
        if (length == 0 || length > static_cast<std::size_t>(program.end - program.at)) return;
        Reader extended{program.at, program.at + length};
        program.at += length;
        switch (extended.number<std::uint8_t>()) {
          case 1:
            emit(true);
            at = 0;
            file = 1;
            line = 1;
            break;
          case 2:
            at = extended.number<std::uintptr_t>();
            break;
          case 3: {
            const char* const name = extended.text();
            add_file(name, extended.leb());
            break;
          }
          default:
            break;
        }
        break;
      }
      case 1:
        emit(false);
        break;
      case 2:
        at += program.leb() * least;
        break;
      case 3:
        line += program.signed_leb();
        break;
      case 4:
        file = program.leb();
        break;
      case 8:
        at += static_cast<std::uintptr_t>((255 - opcode_base) / line_range) * least;
        break;
      case 9:
        at += program.number<std::uint16_t>();
        break;
      default:
        for (unsigned i = 0; i < operands[opcode]; ++i) program.leb();
        break;
    }
  }
}

struct Program {
  std::vector<Row> rows;
  std::vector<DataSymbol> symbols;

  Program() {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (file < 0) return;
    if (fstat(file, &info) == 0 && info.st_size > static_cast<off_t>(sizeof(ElfW(Ehdr)))) {
      const auto bytes = static_cast<std::size_t>(info.st_size);
      void* const image = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
      if (image != MAP_FAILED) {
        read(static_cast<const unsigned char*>(image), bytes);
        munmap(image, bytes);
      }
    }
    close(file);
  }

  static std::uintptr_t load_address() {
    std::uintptr_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* out) {
          *static_cast<std::uintptr_t*>(out) = object->dlpi_addr;
          return 1;  // the first one is the program
        },
        &base);
    return base;
  }

  void read(const unsigned char* image, std::size_t bytes) {
    const auto inside = [&](std::uint64_t offset, std::uint64_t size) {
      return offset <= bytes && size <= bytes - offset;
    };
    ElfW(Ehdr) header;
    std::memcpy(&header, image, sizeof(header));
    if (!inside(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(ElfW(Shdr)))) return;
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    std::memcpy(sections.data(), image + header.e_shoff, sections.size() * sizeof(ElfW(Shdr)));
    if (header.e_shstrndx >= sections.size()) return;
    const std::uintptr_t base = header.e_type == ET_DYN ? load_address() : 0;
    const ElfW(Shdr)& names = sections[header.e_shstrndx];
    for (const ElfW(Shdr) & section : sections) {
      if (section.sh_type == SHT_NOBITS || !inside(section.sh_offset, section.sh_size)) continue;
      Reader content{image + section.sh_offset, image + section.sh_offset + section.sh_size};
      if (section.sh_type == SHT_SYMTAB && section.sh_link < sections.size()) {
        read_symbols(content, image, bytes, sections, sections[section.sh_link], base);
      } else if (inside(names.sh_offset + section.sh_name, 12) &&
                 std::memcmp(image + names.sh_offset + section.sh_name, ".debug_line", 12) == 0) {
        while (content.end - content.at > 6) {
          const std::uint32_t length = content.number<std::uint32_t>();
          if (length >= 0xfffffff0u || length > static_cast<std::size_t>(content.end - content.at)) break;
          Reader unit{content.at, content.at + length};
          content.at += length;
          const unsigned version = unit.number<std::uint16_t>();
          if (version >= 2 && version <= 4) read_unit(unit, version, base, &rows);
        }
      }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.at != b.at ? a.at < b.at : a.end && !b.end; });
    std::sort(symbols.begin(), symbols.end(),
              [](const DataSymbol& a, const DataSymbol& b) { return a.at < b.at; });
  }

  void read_symbols(Reader content, const unsigned char* image, std::size_t bytes,
                    const std::vector<ElfW(Shdr)>& sections, const ElfW(Shdr) & strings,
                    std::uintptr_t base) {
    if (strings.sh_offset > bytes || strings.sh_size > bytes - strings.sh_offset) return;
    while (static_cast<std::size_t>(content.end - content.at) >= sizeof(ElfW(Sym))) {
      const auto symbol = content.number<ElfW(Sym)>();
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 ||
          symbol.st_shndx >= sections.size() || !(sections[symbol.st_shndx].sh_flags & SHF_WRITE) ||
          symbol.st_name >= strings.sh_size)
        continue;
      Reader name{image + strings.sh_offset + symbol.st_name, image + strings.sh_offset + strings.sh_size};
      const char* const mangled = name.text();
      int status = -1;
      char* const plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
      symbols.push_back({base + symbol.st_value, symbol.st_size, status == 0 ? plain : mangled,
                         std::strncmp(mangled, "_ZZ", 3) == 0});
      std::free(plain);
    }
  }
};

const Program& program() {
  static const Program* const it = new Program;
  return *it;
}

// The row that holds this address; from a header's back to the candidate's before it, when `back`.
int line_at(std::uintptr_t address, bool back) {
  const std::vector<Row>& rows = program().rows;
  auto row = std::upper_bound(rows.begin(), rows.end(), address,
                              [](std::uintptr_t a, const Row& r) { return a < r.at; });
  if (row == rows.begin()) return 0;
  --row;
  if (row->end) return 0;
  while (row->line == 0 && back && row != rows.begin() && !(row - 1)->end) --row;
  return row->line;
}

}  // namespace

bool is_candidate_file(const char* name) {
  // It lies beside the driver, whose names begin with leap_; headers lie in directories.
  if (std::strncmp(name, "./", 2) == 0) name += 2;
  return !std::strchr(name, '/') && name[0] != '<' && std::strncmp(name, "leap_", 5) != 0;
}

const std::vector<DataSymbol>& data_symbols() {
  return program().symbols;
}

int line_of(const void* return_address, const void* frame) {
  auto at = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  if (const int line = line_at(at, false)) return line;
  if (const int line = line_at(at, true)) return line;
  // A header's function of its own: its callers, by frame pointers.
  auto here = reinterpret_cast<std::uintptr_t>(frame);
  for (int depth = 0; depth < 16 && here % sizeof(void*) == 0 && here != 0; ++depth) {
    std::uintptr_t up[2];
    std::memcpy(up, reinterpret_cast<const void*>(here), sizeof(up));
    if (const int line = line_at(up[1] - 1, true)) return line;
    if (up[0] <= here || up[0] - here > (256u << 10)) break;
    here = up[0];
  }
  return 0;
}

}  // namespace check
}  // namespace leap_cuda
#endif
