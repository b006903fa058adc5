#include "base/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/error.hpp"

namespace leap {
namespace {

std::atomic<int> received{0};
int pipe_fds[2] = {-1, -1};

void on_signal(int number) {
  const int saved = errno;
  received.store(number);
  const char byte = 0;
  [[maybe_unused]] const auto written = write(pipe_fds[1], &byte, 1);
  errno = saved;
}

}  // namespace

void install_signal_handlers() {
  if (pipe_fds[0] < 0 && pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) throw_errno("pipe");
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int number : {SIGINT, SIGTERM}) {
    struct sigaction old {};
    sigaction(number, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  action.sa_flags = 0;
  sigaction(SIGPIPE, &action, nullptr);
}

void request_interrupt(int number) {
  int none = 0;
  if (!received.compare_exchange_strong(none, number)) return;
  const char byte = 0;
  [[maybe_unused]] const auto written = write(pipe_fds[1], &byte, 1);
}

int interrupted() {
  return received.load();
}

int interrupt_fd() {
  return pipe_fds[0];
}

}  // namespace leap
