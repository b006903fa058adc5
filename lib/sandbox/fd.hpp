/// File descriptors that are closed with their owner, and files in memory.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace leap::sandbox {

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// A file in memory at offset 0. Error when there is none.
Fd memory_file(std::string_view content);

/// The same, to be executed: open for nobody to write to.
Fd program_file(std::string_view content);

/// Both ends of a stream socket.
std::pair<Fd, Fd> socket_pair();

/// Of a file, its first `most` bytes.
std::string content_of(int fd, std::size_t most);

}  // namespace leap::sandbox
