/// Connections of rank 0 with every other rank that say who is there, pass signals on, and notice when one
/// goes away.
///
/// Theory. A collective operation fails, or waits for ever, when a rank has died, and cannot say which one.
/// So each rank keeps a connection to rank 0 on which nothing but a few lines ever pass, and a thread that
/// watches it. The kernel closes a dead process's connections at once, and keep-alive probes find a machine
/// that is gone; rank 0 tells the others who it was. A rank that fails with a message sends it first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "training/placement.hpp"

namespace leap::training {

class RankLinks {
 public:
  /// `options`: the command line, which must be the same for all ranks.
  RankLinks(const Placement& place, const std::string& options);
  RankLinks(const RankLinks&) = delete;
  RankLinks& operator=(const RankLinks&) = delete;
  ~RankLinks();

  /// Rank 0: opens a port and returns what the others need to find it.
  std::string open();
  /// Rank 0: waits for all others. Throws Error that names who is missing. False: a signal asked to finish.
  bool accept_all(double timeout_s);
  /// Others: connects to rank 0 at `ticket`, what its open() returned, and waits until all are there.
  bool connect(const std::string& ticket, double timeout_s);

  /// Ranks that run on the same cores as this one, this one included.
  int sharing_cores() const { return sharing_; }
  /// This machine's address, as seen on the way to the others.
  const std::string& local_address() const { return address_; }

  /// Throws Error when a rank is gone.
  void check() const;
  /// To be called when talking to the others failed: waits a moment for the reason and throws it, or else
  /// `otherwise`.
  [[noreturn]] void explain(const std::string& otherwise);

  /// Leaves, telling the others why when it is not the end (`failure` not empty). They need not answer.
  void leave(const std::string& failure) noexcept;

 private:
  struct Peer {
    int rank = 0;
    int fd = -1;
    std::string pending;  // bytes without a newline yet
    bool left = false;    // said goodbye
  };

  std::string hello() const;
  void admit(const std::string& line, Peer peer, std::vector<std::string>& cores);
  void start();
  void watch();
  void pass_signal_on();
  void hear(Peer& peer);
  void understand(Peer& peer, const std::string& line);
  void lose(const Peer& peer, const std::string& reason);
  void tell(const std::string& line, int except) noexcept;

  Placement place_;
  std::string options_, token_, address_;
  int listener_ = -1, wake_ = -1, sharing_ = 1;
  std::vector<Peer> peers_;  // rank 0: all others; others: rank 0
  std::thread watcher_;
  mutable std::mutex mutex_;
  std::condition_variable lost_changed_;
  std::string lost_;  // who went away, and why
  std::atomic<bool> is_lost_ = false;
};

/// Waits until something listens at the meeting point of `place`. Throws Error after `timeout_s`. False: a
/// signal asked to finish.
bool wait_for_listener(const Placement& place, double timeout_s);

}  // namespace leap::training
