#include "model/safetensors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "model/config.hpp"

namespace leap::model {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are read in place");

constexpr std::size_t kMaxHeader = 100'000'000;

struct Mapping {
  std::shared_ptr<void> memory;
  std::size_t size = 0;
};

Mapping map_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno(path);
  struct stat st {};
  void* memory = MAP_FAILED;
  if (::fstat(fd, &st) == 0 && st.st_size > 0) {
    memory = ::mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  const int error = errno;
  ::close(fd);
  if (st.st_size == 0) throw Error(path + ": empty file");
  if (memory == MAP_FAILED) {
    errno = error;
    throw_errno(path);
  }
  const auto size = static_cast<std::size_t>(st.st_size);
  return {std::shared_ptr<void>(memory, [size](void* p) { ::munmap(p, size); }), size};
}

/// One entry of the header, its offsets still relative to the buffer of `buffer_size` bytes.
TensorView parse_entry(const std::string& name, const Json& entry, std::size_t buffer_size,
                       std::size_t& begin) {
  auto refuse = [&](const char* why) { throw Error("tensor '" + name + "': " + why); };
  TensorView view;
  view.name = name;
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string()) refuse("no dtype");
  view.dtype = entry["dtype"].get<std::string>();
  const std::size_t size = dtype_size(view.dtype);
  if (size == 0) refuse("unknown dtype");
  if (!entry.contains("shape") || !entry["shape"].is_array()) refuse("no shape");
  std::size_t bytes = size;
  for (const Json& extent : entry["shape"]) {
    if (!extent.is_number_unsigned()) refuse("bad shape");
    const auto n = extent.get<std::uint64_t>();
    if (n > INT64_MAX || __builtin_mul_overflow(bytes, n, &bytes)) refuse("shape too large");
    view.shape.push_back(static_cast<std::int64_t>(n));
  }
  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
    refuse("bad data_offsets");
  }
  begin = (*offsets)[0].get<std::size_t>();
  const auto end = (*offsets)[1].get<std::size_t>();
  if (begin > end || end > buffer_size) refuse("data_offsets beyond the file");
  if (end - begin != bytes) refuse("data_offsets do not suit dtype and shape");
  view.bytes = bytes;
  return view;
}

float half_to_float(std::uint16_t h) {
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  const float sign = h & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31)
    return std::bit_cast<float>((h & 0x8000u) << 16 | 0x7f800000u | static_cast<unsigned>(fraction) << 13);
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

}  // namespace

std::int64_t TensorInfo::elements() const {
  std::int64_t n = 1;
  for (std::int64_t extent : shape) n *= extent;
  return n;
}

std::size_t dtype_size(const std::string& dtype) {
  static const std::unordered_map<std::string, std::size_t> sizes{
      {"F64", 8}, {"I64", 8}, {"U64", 8}, {"F32", 4}, {"I32", 4},     {"U32", 4},     {"F16", 2}, {"BF16", 2},
      {"I16", 2}, {"U16", 2}, {"I8", 1},  {"U8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"BOOL", 1}};
  auto it = sizes.find(dtype);
  return it == sizes.end() ? 0 : it->second;
}

SafetensorsReader::SafetensorsReader(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  const std::string single = path + "/model.safetensors";
  if (!fs::is_directory(path) || fs::exists(single)) {
    add_file(fs::is_directory(path) ? single : path);
    return;
  }
  const std::string index = path + "/model.safetensors.index.json";
  if (!fs::exists(index)) throw Error(path + ": neither model.safetensors nor model.safetensors.index.json");
  const Json json = read_json_file(index);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) throw Error(index + ": weight_map: missing");
  std::set<std::string> files;
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos) {
      throw Error(index + ": weight_map: '" + name + "' names no file of the directory");
    }
    files.insert(file.get<std::string>());
  }
  for (const std::string& file : files) add_file(path + "/" + file);
  for (const auto& [name, file] : map->items()) {
    if (!find(name)) throw Error(path + "/" + file.get<std::string>() + ": tensor '" + name + "' is missing");
  }
}

void SafetensorsReader::add_file(const std::string& path) {
  const Mapping map = map_file(path);
  const auto* bytes = static_cast<const std::byte*>(map.memory.get());
  try {
    std::uint64_t length = 0;
    if (map.size < 8) throw Error("too short for a safetensors file");
    std::memcpy(&length, bytes, 8);
    if (length > kMaxHeader || length > map.size - 8) throw Error("header length beyond the file");
    const std::size_t start = 8 + static_cast<std::size_t>(length), buffer_size = map.size - start;
    const Json header = jsonl::parse_record({reinterpret_cast<const char*>(bytes) + 8, length});
    std::vector<std::pair<std::size_t, std::size_t>> ranges;  // offset, bytes
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        bool strings = entry.is_object();
        for (const Json& value : entry) strings = strings && value.is_string();
        if (!strings) throw Error("__metadata__ must hold strings only");
        continue;
      }
      std::size_t begin = 0;
      TensorView view = parse_entry(name, entry, buffer_size, begin);
      view.data = bytes + start + begin;
      ranges.emplace_back(begin, view.bytes);
      if (!index_.emplace(name, tensors_.size()).second) throw Error("tensor '" + name + "' is in two files");
      tensors_.push_back(std::move(view));
    }
    std::sort(ranges.begin(), ranges.end());
    std::size_t end = 0;
    for (const auto& [offset, size] : ranges) {
      if (offset != end) throw Error(offset < end ? "tensors overlap" : "hole between tensors");
      end += size;
    }
    if (end != buffer_size) throw Error("bytes after the last tensor");
  } catch (const Error& e) {
    throw Error(path + ": " + e.what());
  }
  maps_.push_back(map.memory);
}

const TensorView* SafetensorsReader::find(const std::string& name) const {
  auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

const TensorView& SafetensorsReader::at(const std::string& name) const {
  if (const TensorView* view = find(name)) return *view;
  throw Error(path_ + ": tensor '" + name + "' is missing");
}

void widen(const TensorView& tensor, std::int64_t first, std::int64_t count, float* out) {
  const auto n = static_cast<std::size_t>(count);
  const std::byte* from = tensor.data + static_cast<std::size_t>(first) * dtype_size(tensor.dtype);
  if (tensor.dtype == "F32") {
    std::memcpy(out, from, n * 4);
    return;
  }
  const bool brain = tensor.dtype == "BF16";
  if (!brain && tensor.dtype != "F16") {
    throw Error("tensor '" + tensor.name + "': dtype " + tensor.dtype +
                " is not supported (F32, F16 and BF16 are)");
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + 2 * i, 2);
    out[i] = brain ? std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16) : half_to_float(bits);
  }
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorInfo> tensors) : path_(path) {
  // Wide types first, so that every tensor is aligned to its element.
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return dtype_size(a.dtype) > dtype_size(b.dtype);
  });
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::size_t offset = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * dtype_size(tensor.dtype);
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
    places_[tensor.name] = {offset, bytes, false};
    offset += bytes;
  }
  std::string text = jsonl::dump(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  for (auto& [name, place] : places_) place.offset += 8 + text.size();
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw_errno(path);
  places_[""] = {0, 8 + text.size(), false};
  std::string head(8, '\0');
  std::memcpy(head.data(), &length, 8);
  head += text;
  write("", head.data(), head.size());
}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void SafetensorsWriter::write(const std::string& name, const void* data, std::size_t bytes) {
  auto it = places_.find(name);
  if (it == places_.end()) throw Error(path_ + ": tensor '" + name + "' was not announced");
  if (it->second.bytes != bytes)
    throw Error(path_ + ": tensor '" + name + "' has another size than announced");
  const auto* from = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(fd_, from + done, bytes - done, static_cast<off_t>(it->second.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno(path_);
    done += static_cast<std::size_t>(n);
  }
  it->second.written = true;
}

void SafetensorsWriter::close() {
  for (const auto& [name, place] : places_) {
    if (!place.written) throw Error(path_ + ": tensor '" + name + "' was not written");
  }
  const int fd = fd_;
  fd_ = -1;
  const int synced = ::fsync(fd), error = errno, closed = ::close(fd);
  if (synced != 0) errno = error;
  if (synced != 0 || closed != 0) throw_errno(path_);
}

}  // namespace leap::model
