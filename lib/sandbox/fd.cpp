#include "sandbox/fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.hpp"

namespace leap::sandbox {

Fd memory_file(std::string_view content) {
  Fd fd(memfd_create("leap", MFD_CLOEXEC));
  if (fd.get() < 0) throw_errno("memfd_create");
  while (!content.empty()) {
    const ssize_t n = write(fd.get(), content.data(), content.size());
    if (n < 0) throw_errno("memfd");
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

Fd program_file(std::string_view content) {
  const Fd writable = memory_file(content);
  if (fchmod(writable.get(), 0555) != 0) throw_errno("memfd");
  Fd fd(open(("/proc/self/fd/" + std::to_string(writable.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) throw_errno("memfd");
  return fd;
}

std::pair<Fd, Fd> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string content_of(int fd, std::size_t most) {
  struct stat s {};
  if (fstat(fd, &s) != 0) throw_errno("memfd");
  std::string out(std::min(most, static_cast<std::size_t>(s.st_size)), '\0');
  std::size_t got = 0;
  while (got < out.size()) {
    const ssize_t n = pread(fd, out.data() + got, out.size() - got, static_cast<off_t>(got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  out.resize(got);
  return out;
}

}  // namespace leap::sandbox
