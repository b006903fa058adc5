/// Frames between our processes: a 4-byte length, then fields of a 4-byte length and bytes each; all numbers
/// little-endian.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace leap {

using Fields = std::vector<std::string>;

inline std::string packed(const Fields& fields) {
  std::string out(4, '\0');
  const auto number = [](char* at, std::size_t size) {
    const auto n = static_cast<std::uint32_t>(size);
    std::memcpy(at, &n, 4);
  };
  for (const std::string& field : fields) {
    out.resize(out.size() + 4);
    number(out.data() + out.size() - 4, field.size());
    out += field;
  }
  number(out.data(), out.size() - 4);
  return out;
}

/// False when the other end is gone.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

inline bool read_exactly(int fd, char* at, std::size_t size) {
  while (size > 0) {
    const ssize_t n = read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

/// False when `body` is no sequence of fields.
inline bool unpack(std::string_view body, Fields& fields) {
  fields.clear();
  while (!body.empty()) {
    std::uint32_t size = 0;
    if (body.size() < 4) return false;
    std::memcpy(&size, body.data(), 4);
    if (size > body.size() - 4) return false;
    fields.emplace_back(body.substr(4, size));
    body.remove_prefix(4 + size);
  }
  return true;
}

/// False at the end, or when the other end sends something else.
inline bool read_frame(int fd, Fields& fields, std::uint32_t most = 1u << 30) {
  std::uint32_t size = 0;
  if (!read_exactly(fd, reinterpret_cast<char*>(&size), 4) || size > most) return false;
  std::string body(size, '\0');
  return read_exactly(fd, body.data(), size) && unpack(body, fields);
}

}  // namespace leap
