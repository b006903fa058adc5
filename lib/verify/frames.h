// Messages between a program in a sandbox and its supervisor: frames as in supervisor.c on fds 3 (in) and 4 (out).
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace leap_driver {

inline std::string& nonce() {
  static std::string it;
  return it;
}

/// A system call that the program's own functions of the same name cannot get between.
inline long call(long number, long a, const void* b, std::size_t c) {
#if defined(__x86_64__)
  long out;
  asm volatile("syscall" : "=a"(out) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return out;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register const void* x1 asm("x1") = b;
  register std::size_t x2 asm("x2") = c;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#else
  return syscall(number, a, b, c);
#endif
}

[[noreturn]] inline void leave(int status) {
  for (;;) call(SYS_exit_group, status, nullptr, 0);
}

inline bool read_exactly(char* at, std::size_t size) {
  while (size > 0) {
    const long n = call(SYS_read, 3, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

inline std::uint32_t number(const char* at) {
  std::uint32_t n = 0;
  for (int i = 3; i >= 0; --i) n = n << 8 | static_cast<unsigned char>(at[i]);
  return n;
}

inline void put32(std::string& out, std::uint32_t n) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(n >> (8 * i));
}

inline bool receive(std::vector<std::string>& fields) {
  char head[4];
  if (!read_exactly(head, 4)) return false;
  std::string body(number(head), '\0');
  if (!read_exactly(&body[0], body.size())) return false;
  fields.clear();
  for (std::size_t at = 0; at + 4 <= body.size();) {
    const std::size_t size = number(&body[at]);
    fields.push_back(body.substr(at + 4, size));
    at += 4 + size;
  }
  return true;
}

inline void send_as(const std::string& key, const std::vector<std::string>& fields) {
  std::string body;
  put32(body, static_cast<std::uint32_t>(key.size()));
  body += key;
  for (const std::string& field : fields) {
    put32(body, static_cast<std::uint32_t>(field.size()));
    body += field;
  }
  std::string frame;
  put32(frame, static_cast<std::uint32_t>(body.size()));
  frame += body;
  for (std::size_t at = 0; at < frame.size();) {
    const long n = call(SYS_write, 4, frame.data() + at, frame.size() - at);
    if (n <= 0) leave(1);
    at += static_cast<std::size_t>(n);
  }
}

inline void send(const std::vector<std::string>& fields) {
  send_as(nonce(), fields);
}

inline std::string first_frame() {
  std::vector<std::string> message;
  if (!receive(message) || message.empty()) leave(1);
  return message[0];
}

}  // namespace leap_driver
