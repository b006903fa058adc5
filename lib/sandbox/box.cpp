#include "sandbox/box.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/frames.hpp"
#include "base/text.hpp"
#include "sandbox/first_process.hpp"
#include "sandbox/spawn.hpp"

namespace leap::sandbox {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxFrame = 256u << 20;
constexpr std::size_t kMaxMessage = 64u << 20;
constexpr std::size_t kMostFds = 6;  ///< that go with a frame
constexpr std::size_t kMostErr = 65536;
constexpr std::size_t kNonce = 32;

std::string make_nonce() {
  char random[kNonce / 2];
  if (getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) throw_errno("getrandom");
  return hex({random, sizeof random});
}

/// The end that is ours does not block.
void make_pipe(Fd& read_end, Fd& write_end, bool we_read) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  fcntl(ends[we_read ? 0 : 1], F_SETFL, O_NONBLOCK);
}

}  // namespace

Box::~Box() {
  end(false);
}

void Box::hang_up() {
  if (control_ >= 0) close(control_);
  control_ = -1;
}

void Box::end(bool at_once) {
  hang_up();
  runs_.clear();
  if (pid_ > 0) end_first_process(pid_, at_once, mode_ == Mode::kBwrap);
  pid_ = -1;
  if (!work_dir_.empty()) remove_tree(work_dir_);
  work_dir_.clear();
}

void Box::fault(const std::string& what) {
  end(true);
  throw Fault("sandbox: " + what);
}

void Box::write_frame(const Fields& fields, const std::vector<int>& fds) {
  if (control_ < 0) throw Fault("sandbox: it has ended");
  const std::string body = packed(fields);
  std::string_view rest = body;
  const auto deadline =
      Clock::now() + std::chrono::duration<double>(runs_.empty() ? 60 : runs_.front().patience_s);
  while (!rest.empty()) {
    iovec part{const_cast<char*>(rest.data()), rest.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char ancillary[CMSG_SPACE(kMostFds * sizeof(int))] = {};
    if (!fds.empty() && rest.size() == body.size()) {
      message.msg_control = ancillary;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    const ssize_t n = sendmsg(control_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{control_, POLLOUT, 0};
      if (Clock::now() > deadline) fault("it does not read");
      poll(&wait, 1, 1000);
    } else if (errno != EINTR) {
      fault("it has ended");
    }
  }
}

/// One frame of the control socket.
Fields Box::read_frame(double timeout_s) {
  if (control_ < 0) throw Fault("sandbox: it has ended");
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  auto fill = [&](char* at, std::size_t size) {
    while (size > 0) {
      const ssize_t n = recv(control_, at, size, MSG_DONTWAIT);
      if (n > 0) {
        at += n;
        size -= static_cast<std::size_t>(n);
      } else if (n == 0) {
        fault("it has ended");
      } else if (errno == EAGAIN) {
        pollfd wait{control_, POLLIN, 0};
        if (Clock::now() > deadline) fault("no answer in time");
        poll(&wait, 1, 1000);
      } else if (errno != EINTR) {
        fault("it has ended");
      }
    }
  };
  std::uint32_t size = 0;
  fill(reinterpret_cast<char*>(&size), 4);
  if (size > kMaxFrame) fault("a message too long");
  std::string body(size, '\0');
  fill(body.data(), size);
  Fields fields;
  if (!unpack(body, fields) || fields.empty()) fault("a broken message");
  return fields;
}

void Box::keep(const std::string& name, const std::string& bytes) {
  write_frame({"keep", name, bytes});
}

void Box::keep_program(const std::string& bytes) {
  program_ = bytes.empty() ? Fd() : program_file(bytes);
}

void Box::start(const Child& child) {
  const Limits& limits = child.limits;
  const bool native = child.kind == "binary" || child.kind == "driver";
  char numbers[200];
  std::snprintf(numbers, sizeof numbers, "%.6f %.6f %ld %d %ld %d %d", limits.cpu_s, limits.wall_s,
                static_cast<long>(limits.memory_mb) << 10, limits.output_kb,
                static_cast<long>(limits.file_mb) << 10, limits.processes, limits.reserves ? 1 : 0);
  std::string argv;
  for (const std::string& argument : child.arguments) {
    if (!argv.empty()) argv += '\0';
    argv += argument;
  }
  Run run;
  run.number = ++started_;
  run.most_out = static_cast<std::size_t>(limits.output_kb) << 10;
  run.patience_s = limits.wall_s * 1.5 + 30;
  run.messages = child.messages;
  // The child writes into our files: nothing has to be passed on when it has ended.
  const Fd input = memory_file(child.input);
  run.out = memory_file("");
  std::string roles = "io";
  std::vector<int> fds = {input.get(), run.out.get()};
  if (native) {
    run.err = memory_file("");
    roles += 'e';
    fds.push_back(run.err.get());
  }
  Fd to_parent;
  if (child.kind != "binary") {
    make_pipe(run.down_reader, run.down, false);
    make_pipe(run.up, to_parent, true);
    roles += "du";
    fds.insert(fds.end(), {run.down_reader.get(), to_parent.get()});
    run.nonce = make_nonce();
    if (child.sealed) run.seal = make_nonce();
    if (native) run.pending = packed({run.nonce});
    if (!child.message.empty()) run.pending += packed(child.message);
  }
  if (native && child.own_program) {
    roles += 'p';
    fds.push_back(program_.get());
  }
  Fields fields = {"start", std::to_string(run.number), child.kind, numbers,
                   argv,    run.nonce + run.seal,       roles};
  for (const auto& [name, content] : child.files) {
    fields.push_back(name);
    fields.push_back(content);
  }
  flush(run);
  write_frame(fields, fds);
  runs_.push_back(std::move(run));
}

void Box::flush(Run& run) const {
  std::size_t sent = 0;
  while (sent < run.pending.size()) {
    const ssize_t n = write(run.down.get(), run.pending.data() + sent, run.pending.size() - sent);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n <= 0 && errno != EINTR) break;
  }
  run.pending.erase(0, sent);
  if (run.closing && run.pending.empty()) run.down.reset();
}

bool Box::receive(Run& run) const {
  char part[1 << 16];
  const ssize_t n = read(run.up.get(), part, sizeof part);
  if (n < 0) return errno == EINTR;
  if (n == 0) run.up.reset();
  if (n > 0 && !run.forged) run.received.append(part, static_cast<std::size_t>(n));
  return n > 0;
}

/// A message begins with the nonce and is filled by its fields, or it is not the harness's.
bool Box::take_message(Run& run, Fields& message) const {
  if (run.received.size() < 4) return false;
  std::uint32_t size = 0;
  std::memcpy(&size, run.received.data(), 4);
  message.clear();
  if (size <= kMaxMessage) {
    if (run.received.size() - 4 < size) return false;
    if (unpack(std::string_view(run.received).substr(4, size), message) && message.size() > 1 &&
        message[0] == run.nonce) {
      message.erase(message.begin());
      const bool sealed = !run.seal.empty() && message == Fields{run.seal};
      if (sealed || message[0] == "sealed") message[0] = sealed ? "sealed" : "";
      run.received.erase(0, 4 + size);
      return true;
    }
  }
  run.forged = true;
  run.received.clear();
  return false;
}

bool Box::next(Fields& message) {
  if (runs_.empty()) return false;
  Run& run = runs_.front();
  const auto deadline = Clock::now() + std::chrono::duration<double>(run.patience_s);
  while (!take_message(run, message)) {
    if (!run.ended.empty()) {
      finish();
      return false;
    }
    if (run.forged) order_stop(run);  // nothing that it says will count
    flush(run);
    pollfd fds[3] = {{run.up.get(), POLLIN, 0},
                     {control_, POLLIN, 0},
                     {run.pending.empty() ? -1 : run.down.get(), POLLOUT, 0}};
    if (poll(fds, 3, 1000) <= 0) {
      if (Clock::now() > deadline) fault("no answer in time");
      continue;
    }
    if (fds[0].revents) receive(run);
    if (fds[1].revents) {
      run.ended = read_frame(60);
      // Nobody is left to write more.
      while (run.up.get() >= 0 && receive(run)) continue;
    }
  }
  if (run.messages > 0 && --run.messages == 0) order_stop(run);
  return true;
}

void Box::order_stop(Run& run) {
  if (run.stopped || !run.ended.empty()) return;
  run.stopped = true;
  write_frame({"stop", std::to_string(run.number)});
}

void Box::finish() {
  const Run run = std::move(runs_.front());
  runs_.pop_front();
  if (run.ended.size() != 3 || run.ended[0] != "ended") fault("a message of an unknown kind");
  static const std::pair<const char*, End> kEnds[] = {
      {"exit", End::kExit},     {"signal", End::kSignal}, {"cpu", End::kCpu},        {"wall", End::kWall},
      {"memory", End::kMemory}, {"output", End::kOutput}, {"stopped", End::kStopped}};
  bool known = false;
  ended_ = {};
  for (const auto& [name, end] : kEnds)
    if (run.ended[1] == name) {
      ended_.end = end;
      known = true;
    }
  if (!known) fault("its files cannot be removed");
  double rss_kb = 0;
  std::sscanf(run.ended[2].c_str(), "%d %lf %lf %lf", &ended_.code, &ended_.cpu_s, &ended_.wall_s, &rss_kb);
  ended_.max_rss_mb = rss_kb / 1024;
  // Half a message: was cut off where the child was ended in the middle of it.
  ended_.forged = run.forged || (ended_.end == End::kExit && !run.received.empty());
  ended_.out = content_of(run.out.get(), run.most_out);
  if (run.err.get() >= 0) ended_.err = content_of(run.err.get(), kMostErr);
}

void Box::send(const Fields& message) {
  if (control_ < 0) throw Fault("sandbox: it has ended");
  if (runs_.empty() || runs_.front().down.get() < 0) return;
  runs_.front().pending += packed(message);
  flush(runs_.front());
}

void Box::close_input() {
  if (runs_.empty()) return;
  runs_.front().closing = true;
  flush(runs_.front());
}

const Ended& Box::stop() {
  while (runs_.size() > 1) wait();
  if (!runs_.empty()) order_stop(runs_.front());
  return wait();
}

const Ended& Box::wait() {
  Fields message;
  while (next(message)) {
  }
  return ended_;
}

std::string Box::fetch(const std::string& name) {
  write_frame({"fetch", name});
  Fields answer = read_frame(60);
  if (answer.size() != 2 || answer[0] != "file") fault("no file");
  return std::move(answer[1]);
}

}  // namespace leap::sandbox
