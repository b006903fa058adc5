/// The processes that train together: how they join, what they send each other, and how the death of one ends
/// all. One process alone is the trivial case, and needs nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "training/collectives.hpp"
#include "training/placement.hpp"

namespace leap::training {

class RankLinks;

class Ranks {
 public:
  /// One process.
  Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  /// Tells the others that this rank leaves as intended.
  ~Ranks();

  /// Joins the other processes of `place`, which were started with the same `options` (any text); null when a
  /// signal asked to finish before all were there. Divides the cores that several ranks have to share, unless
  /// OMP_NUM_THREADS says how many to use. Throws Error.
  static std::unique_ptr<Ranks> join(const Placement& place, const std::string& options, double timeout_s);

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  bool alone() const { return place_.size == 1; }
  bool first() const { return place_.rank == 0; }

  /// The GPU of this rank where `device` is a GPU without a number.
  at::Device device(at::Device device) const;

  /// Throws Error when another rank is gone. Operations do it too; this is for between them.
  void check() const;

  /// Leaves because of `reason`: the others end with it.
  void fail(const std::string& reason) noexcept;

  // Collective operations, see Collectives; with one rank they change nothing. They throw Error when a rank
  // goes away.
  void reduce(std::vector<Collectives::Part> parts) const;
  void broadcast(std::vector<Collectives::Part> parts) const;
  void sum(at::Tensor tensor) const;
  /// The value of each rank.
  template <class T>
  std::vector<T> gather(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string all = gather_bytes({reinterpret_cast<const char*>(&value), sizeof value});
    std::vector<T> values(all.size() / sizeof(T));
    std::memcpy(values.data(), all.data(), all.size());
    return values;
  }
  /// The value of rank 0.
  std::int64_t of_first(std::int64_t value) const;
  std::string of_first(std::string bytes) const;
  /// Rank 0 goes on when all have come here.
  void meet() const;

 private:
  explicit Ranks(const Placement& place);
  std::string gather_bytes(const std::string& bytes) const;
  bool connect(const std::string& options, double timeout_s);

  Placement place_;
  std::unique_ptr<RankLinks> links_;
  std::unique_ptr<Collectives> collectives_;
};

}  // namespace leap::training
