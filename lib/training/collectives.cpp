#include "training/collectives.hpp"

#include "base/error.hpp"

#ifdef USE_C10D_GLOO
#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "training/rank_links.hpp"
#endif

namespace leap::training {

#ifndef USE_C10D_GLOO

bool can_join() {
  return false;
}

std::unique_ptr<MeetingPoint> open_meeting_point(const Placement& place, double) {
  throw UsageError(
      "this rl-update was built for one process, without the headers of Gloo (libgloo-dev), and "
      "was started as one of " +
      std::to_string(place.size));
}

#else

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Work = c10::intrusive_ptr<c10d::Work>;

// An operation waits for the slowest rank, which may be waiting for its input: RankLinks ends it, not a
// clock.
constexpr milliseconds kForEver = std::chrono::hours(24 * 365);
constexpr std::size_t kInFlight = 4;

milliseconds in_ms(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// The message without the place in the source and the stack that c10 adds.
std::string first_line(const std::exception& error) {
  std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

class C10dCollectives : public Collectives {
 public:
  C10dCollectives(const c10::intrusive_ptr<c10d::Store>& store, const Placement& place, RankLinks& links,
                  const std::string& local_address, milliseconds timeout)
      : links_(links) {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    options->devices.push_back(interface != nullptr
                                   ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                                   : c10d::ProcessGroupGloo::createDeviceForHostname(local_address));
    gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo", store),
                                                        place.rank, place.size, options);
#ifdef USE_C10D_NCCL
    if (at::hasCUDA()) {
      nccl_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(
          c10::make_intrusive<c10d::PrefixStore>("nccl", store), place.rank, place.size);
    }
#endif
  }

  void reduce(std::vector<Part>& parts) override {
    run(parts, [](c10d::Backend& backend, std::vector<at::Tensor>& tensors, int owner) {
      c10d::ReduceOptions options;
      options.rootRank = owner;
      options.timeout = kForEver;
      return backend.reduce(tensors, options);
    });
  }

  void broadcast(std::vector<Part>& parts) override {
    run(parts, [](c10d::Backend& backend, std::vector<at::Tensor>& tensors, int owner) {
      c10d::BroadcastOptions options;
      options.rootRank = owner;
      options.timeout = kForEver;
      return backend.broadcast(tensors, options);
    });
  }

  void sum(at::Tensor& tensor) override {
    std::vector<Part> parts{{tensor, 0}};
    run(parts, [](c10d::Backend& backend, std::vector<at::Tensor>& tensors, int) {
      c10d::AllreduceOptions options;
      options.timeout = kForEver;
      return backend.allreduce(tensors, options);
    });
  }

 private:
  using Start = std::function<Work(c10d::Backend&, std::vector<at::Tensor>&, int owner)>;

  /// A few operations at a time, which hides their latencies.
  void run(std::vector<Part>& parts, const Start& start) {
    std::vector<std::pair<Work, std::vector<at::Tensor> > > started;
    const auto finish = [&](std::size_t i) {
      wait(*started[i].first);
      started[i].first.reset();
      if (started[i].second[0].device() != parts[i].tensor.device())
        parts[i].tensor.copy_(started[i].second[0]);
      started[i].second.clear();
    };
    links_.check();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i >= kInFlight) finish(i - kInFlight);
      const bool direct = parts[i].tensor.is_cpu() || nccl_;
      std::vector<at::Tensor> tensors{direct ? parts[i].tensor : parts[i].tensor.cpu()};
      c10d::Backend& backend = parts[i].tensor.is_cpu() || !nccl_ ? *gloo_ : *nccl_;
      Work work = attempt([&] { return start(backend, tensors, parts[i].owner); });
      started.emplace_back(std::move(work), std::move(tensors));
    }
    for (std::size_t i = started.size() - std::min(started.size(), kInFlight); i < started.size(); ++i)
      finish(i);
  }

  void wait(c10d::Work& work) {
    const auto begin = Clock::now();
    while (!attempt([&] { return work.isCompleted(); })) {
      links_.check();
      // Never more than a small part of the operation's own time is lost by sleeping on.
      const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - begin);
      std::this_thread::sleep_for(std::clamp(waited / 16, microseconds(20), microseconds(20000)));
    }
    attempt([&] { return work.wait(); });
  }

  template <class F>
  auto attempt(const F& f) -> decltype(f()) {
    try {
      return f();
    } catch (const std::exception& e) {
      links_.explain("lost the connection to another rank: " + first_line(e));
    }
  }

  RankLinks& links_;
  c10::intrusive_ptr<c10d::Backend> gloo_, nccl_;
};

class C10dMeetingPoint : public MeetingPoint {
 public:
  C10dMeetingPoint(const Placement& place, double timeout_s) : place_(place), timeout_(in_ms(timeout_s)) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(place.port);
    options.isServer = place.rank == 0 && place.agent_prefix.empty();
    options.waitWorkers = false;
    options.timeout = timeout_;
    try {
      store_ = c10::make_intrusive<c10d::TCPStore>(place.address, options);
    } catch (const std::exception& e) {
      const std::string what = first_line(e);
      if (options.isServer && what.find("EADDRINUSE") != std::string::npos) {
        throw Error("MASTER_PORT " + std::to_string(place.port) +
                    " is in use on this machine; choose another for all ranks");
      }
      throw Error("cannot meet the other ranks at " + place.address + " port " + std::to_string(place.port) +
                  ": " + what);
    }
    if (!place.agent_prefix.empty())
      store_ = c10::make_intrusive<c10d::PrefixStore>(place.agent_prefix, store_);
  }

  void set(const std::string& key, const std::string& value) override {
    store_->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
  }

  std::string get(const std::string& key) override {
    try {
      const auto value = store_->get(key);
      return {value.begin(), value.end()};
    } catch (const std::exception& e) {
      throw Error("rank 0 said nothing at " + place_.address + " port " + std::to_string(place_.port) + ": " +
                  first_line(e));
    }
  }

  std::unique_ptr<Collectives> collectives(RankLinks& links, const std::string& local_address) override {
    try {
      return std::make_unique<C10dCollectives>(store_, place_, links, local_address, timeout_);
    } catch (const std::exception& e) {
      throw Error("cannot connect to the other ranks from " + local_address + ": " + first_line(e));
    }
  }

 private:
  Placement place_;
  milliseconds timeout_;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace

bool can_join() {
  return true;
}

std::unique_ptr<MeetingPoint> open_meeting_point(const Placement& place, double timeout_s) {
  return std::make_unique<C10dMeetingPoint>(place, timeout_s);
}

#endif

}  // namespace leap::training
