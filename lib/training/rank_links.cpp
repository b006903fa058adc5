#include "training/rank_links.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/interrupt.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace leap::training {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kGreeting = "leap-rank";
constexpr int kTick_ms = 100;     // how soon a signal is seen while others are waited for
constexpr double kHello_s = 5;    // a connection that says nothing for so long is no rank
constexpr double kReason_s = 10;  // how long a failed operation waits for its reason
constexpr std::size_t kLineLimit = 1 << 16;

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool over() const { return Clock::now() >= end_; }

 private:
  Clock::time_point end_;
};

std::string hex(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

/// The same for processes that run on the same cores of the same machine.
std::string cores_key() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  std::string key(reinterpret_cast<const char*>(&cores), sizeof cores);
  try {
    key += read_file("/proc/sys/kernel/random/boot_id");
  } catch (const Error&) {
    key += "?";  // no /proc: taken for one machine
  }
  return hex(hash64(key));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw Error("MASTER_ADDR " + host + ": " + gai_strerror(error));
  return {found, &freeaddrinfo};
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

int connect_once(const std::string& host, int port) {
  const Addresses all = resolve(host, port);
  for (const addrinfo* a = all.get(); a != nullptr; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    const timeval limit{5, 0};  // bounds connect() too
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) return fd;
    close(fd);
  }
  return -1;
}

/// A dead machine is found within about a minute.
void keep_alive(int fd) {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

std::string own_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  char text[INET6_ADDRSTRLEN] = "";
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "127.0.0.1";
  if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(storage).sin_addr, text, sizeof text);
    return text;
  }
  inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6&>(storage).sin6_addr, text, sizeof text);
  const std::string address = text;
  const std::string mapped = "::ffff:";
  return address.starts_with(mapped) ? address.substr(mapped.size()) : address;
}

bool readable(int fd, int wait_ms) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, wait_ms) > 0;
}

/// What has come in; false at the end of the connection.
bool receive(int fd, std::string& pending) {
  char buffer[4096];
  const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0 || pending.size() > kLineLimit) return false;
  pending.append(buffer, static_cast<std::size_t>(n));
  return true;
}

bool take_line(std::string& pending, std::string& line) {
  const auto end = pending.find('\n');
  if (end == std::string::npos) return false;
  line = pending.substr(0, end);
  pending.erase(0, end + 1);
  return true;
}

/// Waits for a line. False: the connection ended, the time is over, or a signal asked to finish.
bool next_line(int fd, std::string& pending, std::string& line, double timeout_s) {
  const Deadline deadline(timeout_s);
  while (!take_line(pending, line)) {
    if (interrupted() != 0 || deadline.over()) return false;
    if (readable(fd, kTick_ms) && !receive(fd, pending)) return false;
  }
  return true;
}

void send_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the watcher sees why
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string name_of(int rank) {
  return "rank " + std::to_string(rank);
}

std::string departure(int rank, const std::string& reason) {
  if (reason.empty()) return name_of(rank) + " went away without a word; was it killed?";
  return name_of(rank) + " went away: " + reason;
}

std::string failure_in(const std::string& line) {
  const std::string word = "failed ";
  return line.starts_with(word) ? line.substr(word.size()) : "";
}

}  // namespace

bool wait_for_listener(const Placement& place, double timeout_s) {
  const Deadline deadline(timeout_s);
  while (interrupted() == 0) {
    const int fd = connect_once(place.address, place.port);
    if (fd >= 0) {
      close(fd);
      return true;
    }
    if (deadline.over()) {
      throw Error("no answer from rank 0 at " + place.address + " port " + std::to_string(place.port) +
                  " (MASTER_ADDR, MASTER_PORT) within " +
                  std::to_string(static_cast<std::int64_t>(timeout_s)) + " s; was it started?");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kTick_ms));
  }
  return false;
}

RankLinks::RankLinks(const Placement& place, const std::string& options)
    : place_(place), options_(hex(hash64(options))) {}

RankLinks::~RankLinks() {
  leave("");
}

std::string RankLinks::open() {
  std::uint64_t secret = 0;
  if (getrandom(&secret, sizeof secret, 0) != static_cast<ssize_t>(sizeof secret)) throw_errno("getrandom");
  token_ = hex(secret);
  const bool local = is_loopback(place_.address);
  const Addresses local_address = local ? resolve(place_.address, 0) : Addresses(nullptr, &freeaddrinfo);
  const int family = local ? local_address->ai_family : AF_INET6;
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  listener_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int off = 0;
  if (local) {
    if (listener_ >= 0 && bind(listener_, local_address->ai_addr, local_address->ai_addrlen) != 0)
      throw_errno("cannot open a port at " + place_.address);
  } else if (listener_ < 0 || setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
             bind(listener_, reinterpret_cast<sockaddr*>(&any6), sizeof any6) != 0) {
    if (listener_ >= 0) close(listener_);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ >= 0 && bind(listener_, reinterpret_cast<sockaddr*>(&any4), sizeof any4) != 0)
      throw_errno("cannot open a port");
  }
  if (listener_ < 0 || listen(listener_, place_.size) != 0) throw_errno("cannot open a port");
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto port = bound.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(bound).sin_port
                                               : reinterpret_cast<sockaddr_in6&>(bound).sin6_port;
  return std::to_string(ntohs(port)) + ' ' + token_;
}

std::string RankLinks::hello() const {
  return std::string(kGreeting) + ' ' + token_ + ' ' + std::to_string(place_.rank) + ' ' +
         std::to_string(place_.size) + ' ' + options_ + ' ' + cores_key() + '\n';
}

void RankLinks::admit(const std::string& line, Peer peer, std::vector<std::string>& cores) {
  std::istringstream words(line);
  std::string greeting, token, options, key;
  int size = 0;
  words >> greeting >> token >> peer.rank >> size >> options >> key;
  if (!words || greeting != kGreeting || token != token_ || peer.rank <= 0) {
    close(peer.fd);  // somebody else's
    return;
  }
  peers_.push_back(peer);
  if (size != place_.size) {
    throw Error(name_of(peer.rank) + " was told of " + std::to_string(size) + " processes, rank 0 of " +
                std::to_string(place_.size) + " (WORLD_SIZE)");
  }
  if (!cores[static_cast<std::size_t>(peer.rank)].empty())
    throw Error("two processes were told to be " + name_of(peer.rank) + " (RANK)");
  if (options != options_) {
    throw Error(name_of(peer.rank) + " was started with other options than rank 0; all need the same");
  }
  cores[static_cast<std::size_t>(peer.rank)] = key;
}

bool RankLinks::accept_all(double timeout_s) {
  const Deadline deadline(timeout_s);
  std::vector<std::string> cores(static_cast<std::size_t>(place_.size));
  cores[0] = cores_key();
  while (peers_.size() + 1 < cores.size()) {
    if (interrupted() != 0) return false;
    if (deadline.over()) {
      std::string missing;
      for (std::size_t r = 0; r < cores.size(); ++r) {
        if (cores[r].empty()) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
      }
      throw Error("no word from rank " + missing + " within " +
                  std::to_string(static_cast<std::int64_t>(timeout_s)) + " s; are all " +
                  std::to_string(place_.size) +
                  " processes (WORLD_SIZE) started, with the same MASTER_ADDR " + "and MASTER_PORT?");
    }
    std::vector<pollfd> entries{{listener_, POLLIN, 0}};
    for (const Peer& peer : peers_) entries.push_back({peer.fd, POLLIN, 0});
    if (poll(entries.data(), entries.size(), kTick_ms) <= 0) continue;
    // Those that are here have nothing to say yet but that they leave.
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (entries[i + 1].revents == 0) continue;
      std::string reason;
      next_line(peers_[i].fd, peers_[i].pending, reason, kHello_s);
      throw Error(departure(peers_[i].rank, failure_in(reason)));
    }
    if (entries[0].revents == 0) continue;
    Peer peer;
    peer.fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer.fd < 0) continue;
    keep_alive(peer.fd);
    std::string line;
    if (next_line(peer.fd, peer.pending, line, kHello_s)) {
      admit(line, std::move(peer), cores);
    } else {
      close(peer.fd);
    }
  }
  const auto sharing = [&cores](std::size_t r) { return std::count(cores.begin(), cores.end(), cores[r]); };
  // Ranks of this machine may have come by the loopback, where those of others cannot reach it.
  for (const Peer& peer : peers_) {
    if (address_.empty() || is_loopback(address_)) address_ = own_address(peer.fd);
  }
  for (const Peer& peer : peers_) {
    send_all(peer.fd,
             "go " + std::to_string(sharing(static_cast<std::size_t>(peer.rank))) + ' ' + address_ + '\n');
  }
  sharing_ = static_cast<int>(sharing(0));
  start();
  return true;
}

bool RankLinks::connect(const std::string& ticket, double timeout_s) {
  int port = 0;
  std::istringstream(ticket) >> port >> token_;
  const Deadline deadline(timeout_s);
  Peer first;
  while ((first.fd = connect_once(place_.address, port)) < 0) {
    if (interrupted() != 0) return false;
    if (deadline.over())
      throw Error("cannot reach rank 0 at " + place_.address + " port " + std::to_string(port));
    std::this_thread::sleep_for(std::chrono::milliseconds(kTick_ms));
  }
  keep_alive(first.fd);
  send_all(first.fd, hello());
  peers_.push_back(first);
  Peer& peer = peers_.front();
  std::string line;
  // Rank 0 is the one that gives up, and says why.
  if (!next_line(peer.fd, peer.pending, line, timeout_s + kReason_s)) {
    if (interrupted() != 0) return false;
    throw Error(departure(0, ""));
  }
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word != "go") throw Error(departure(0, failure_in(line)));
  words >> sharing_ >> address_;
  if (!is_loopback(own_address(peer.fd))) address_ = own_address(peer.fd);
  start();
  return true;
}

void RankLinks::start() {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw_errno("eventfd");
  watcher_ = std::thread([this] { watch(); });
}

void RankLinks::watch() {
  bool forwards = place_.rank != 0 && interrupt_fd() >= 0;
  while (true) {
    std::vector<pollfd> entries{{wake_, POLLIN, 0}, {forwards ? interrupt_fd() : -1, POLLIN, 0}};
    for (const Peer& peer : peers_) entries.push_back({peer.left ? -1 : peer.fd, POLLIN, 0});
    if (poll(entries.data(), entries.size(), -1) < 0) continue;
    if (entries[0].revents != 0) return;
    if (entries[1].revents != 0) {
      tell("signal " + std::to_string(interrupted()), -1);
      forwards = false;
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (entries[i + 2].revents != 0) hear(peers_[i]);
    }
  }
}

void RankLinks::hear(Peer& peer) {
  const bool open = receive(peer.fd, peer.pending);
  std::string line;
  while (!peer.left && take_line(peer.pending, line)) understand(peer, line);
  if (open || peer.left) return;
  peer.left = true;
  lose(peer, "");
}

void RankLinks::understand(Peer& peer, const std::string& line) {
  const auto space = line.find(' ');
  const std::string word = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (word == "signal") {
    request_interrupt(std::atoi(rest.c_str()));
  } else if (word == "bye") {
    peer.left = true;
  } else if (word == "failed") {
    peer.left = true;
    lose(peer, rest);
  } else if (word == "lost") {
    const std::lock_guard lock(mutex_);
    if (!is_lost_) lost_ = rest;
    is_lost_ = true;
    lost_changed_.notify_all();
  }
}

void RankLinks::lose(const Peer& peer, const std::string& reason) {
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    if (is_lost_) return;
    lost_ = departure(peer.rank, reason);
    line = "lost " + lost_;
    is_lost_ = true;
  }
  if (place_.rank == 0) tell(line, peer.rank);
  lost_changed_.notify_all();
}

void RankLinks::tell(const std::string& line, int except) noexcept {
  for (const Peer& peer : peers_) {
    if (peer.rank != except) send_all(peer.fd, line + '\n');
  }
}

void RankLinks::check() const {
  if (!is_lost_) return;
  const std::lock_guard lock(mutex_);
  throw Error(lost_);
}

void RankLinks::explain(const std::string& otherwise) {
  std::unique_lock lock(mutex_);
  lost_changed_.wait_for(lock, std::chrono::duration<double>(kReason_s), [this] { return is_lost_.load(); });
  throw Error(is_lost_ ? lost_ : otherwise);
}

void RankLinks::leave(const std::string& failure) noexcept {
  if (watcher_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
    watcher_.join();
  }
  if (failure.empty()) {
    tell("bye", -1);
  } else {
    std::string reason = failure;
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    tell("failed " + reason, -1);
  }
  for (const Peer& peer : peers_) close(peer.fd);
  peers_.clear();
  for (int* fd : {&listener_, &wake_}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

}  // namespace leap::training
