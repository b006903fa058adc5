/// Operations on tensors between processes, by c10d: Gloo for tensors of the CPU, NCCL for those of GPUs
/// where it is built in.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "training/placement.hpp"

namespace leap::training {

class RankLinks;

/// Operations on tensors between ranks. Each is called by all ranks in the same order with tensors of the
/// same types and shapes, which are contiguous and changed in place.
class Collectives {
 public:
  /// A tensor and the rank it belongs to.
  struct Part {
    at::Tensor tensor;
    int owner;
  };
  virtual ~Collectives() = default;
  /// The owner's becomes the sum over all ranks, in an order that only depends on their number; the others'
  /// become anything.
  virtual void reduce(std::vector<Part>& parts) = 0;
  /// All become the owner's.
  virtual void broadcast(std::vector<Part>& parts) = 0;
  /// All become the sum.
  virtual void sum(at::Tensor& tensor) = 0;
};

/// Can this program join several processes? Without the headers of Gloo it is built for one alone.
bool can_join();

/// The store at the meeting point of `place`, kept by rank 0 or by torchrun, and what is made through it.
class MeetingPoint {
 public:
  virtual ~MeetingPoint() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Waits for it. Throws Error.
  virtual std::string get(const std::string& key) = 0;
  /// Connects all ranks. Throws Error. `local_address` is this machine's. `links` ends waiting when a rank
  /// goes away.
  virtual std::unique_ptr<Collectives> collectives(RankLinks& links, const std::string& local_address) = 0;
};
std::unique_ptr<MeetingPoint> open_meeting_point(const Placement& place, double timeout_s);

}  // namespace leap::training
