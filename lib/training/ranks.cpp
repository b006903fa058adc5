#include "training/ranks.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "training/rank_links.hpp"

namespace leap::training {
namespace {

constexpr const char* kTicket = "leap/links";

/// Ranks on the same cores divide them.
void share_cores(int ranks) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (std::getenv("OMP_NUM_THREADS") != nullptr || sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  at::set_num_threads(std::max(1, CPU_COUNT(&cores) / ranks));
}

}  // namespace

Ranks::Ranks() = default;

Ranks::Ranks(const Placement& place) : place_(place) {}

Ranks::~Ranks() {
  if (links_ != nullptr) links_->leave("");
}

std::unique_ptr<Ranks> Ranks::join(const Placement& place, const std::string& options, double timeout_s) {
  std::unique_ptr<Ranks> ranks(new Ranks(place));
  if (place.size == 1) return ranks;

  try {
    if (ranks->connect(options, timeout_s)) return ranks;
    ranks->fail("a signal asked it to finish");
    return nullptr;
  } catch (const std::exception& e) {
    ranks->fail(e.what());
    throw;
  }
}

bool Ranks::connect(const std::string& options, double timeout_s) {
  const bool waits = !first() || !place_.agent_prefix.empty();
  if (waits && !wait_for_listener(place_, timeout_s)) return false;
  const auto meeting = open_meeting_point(place_, timeout_s);
  links_ = std::make_unique<RankLinks>(place_, options);
  if (first()) {
    meeting->set(kTicket, links_->open());
    if (!links_->accept_all(timeout_s)) return false;
  } else if (!links_->connect(meeting->get(kTicket), timeout_s)) {
    return false;
  }
  share_cores(links_->sharing_cores());
  collectives_ = meeting->collectives(*links_, links_->local_address());
  meet();  // the meeting point may close
  return true;
}

at::Device Ranks::device(at::Device device) const {
  if (alone() || device.is_cpu() || device.has_index()) return device;
  const at::Device mine(device.type(), static_cast<c10::DeviceIndex>(place_.local_rank));
  c10::impl::VirtualGuardImpl(device.type()).setDevice(mine);
  return mine;
}

void Ranks::check() const {
  if (links_ != nullptr) links_->check();
}

void Ranks::fail(const std::string& reason) noexcept {
  if (links_ != nullptr) links_->leave(reason.empty() ? "it failed" : reason);
  // Its threads may be waiting for a rank that is gone; the process is about to end.
  [[maybe_unused]] const auto* left = collectives_.release();
}

void Ranks::reduce(std::vector<Collectives::Part> parts) const {
  if (!alone()) collectives_->reduce(parts);
}

void Ranks::broadcast(std::vector<Collectives::Part> parts) const {
  if (!alone()) collectives_->broadcast(parts);
}

void Ranks::sum(at::Tensor tensor) const {
  if (!alone()) collectives_->sum(tensor);
}

std::string Ranks::gather_bytes(const std::string& bytes) const {
  if (alone()) return bytes;
  const auto rows = static_cast<std::int64_t>(size()), columns = static_cast<std::int64_t>(bytes.size());
  const at::Tensor table = at::zeros({rows, columns}, at::kByte);
  std::memcpy(static_cast<char*>(table.mutable_data_ptr()) + rank() * columns, bytes.data(), bytes.size());
  sum(table);
  return {static_cast<const char*>(table.const_data_ptr()), static_cast<std::size_t>(rows * columns)};
}

std::int64_t Ranks::of_first(std::int64_t value) const {
  if (alone()) return value;
  const at::Tensor shared = at::full({1}, value, at::kLong);
  broadcast({{shared, 0}});
  return shared.item<std::int64_t>();
}

std::string Ranks::of_first(std::string bytes) const {
  if (alone()) return bytes;
  const std::int64_t length = of_first(static_cast<std::int64_t>(bytes.size()));
  if (length == 0) return {};
  const at::Tensor shared = at::empty({length}, at::kByte);
  if (first()) std::memcpy(shared.data_ptr(), bytes.data(), bytes.size());
  broadcast({{shared, 0}});
  return {static_cast<const char*>(shared.const_data_ptr()), static_cast<std::size_t>(length)};
}

void Ranks::meet() const {
  sum(at::zeros({1}));
}

}  // namespace leap::training
