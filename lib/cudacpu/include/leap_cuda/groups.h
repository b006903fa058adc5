// Cooperative groups.
#pragma once

#include "leap_cuda/half.h"
#include "leap_cuda/math.h"

namespace leap_cuda {

/// What lane `source` has, for values of any size; all lanes of `mask` call it.
template <class T>
inline T lane_value(unsigned mask, const T& value, int source, int line) {
  if constexpr (sizeof(T) <= 8) {
    return from_bits<T>(warp(line, mask, Vote::kShuffle, to_bits(value), source, 32));
  } else {
    T out;
    auto* to = reinterpret_cast<unsigned char*>(&out);
    const auto* from = reinterpret_cast<const unsigned char*>(&value);
    for (std::size_t i = 0; i < sizeof(T); i += 8) {
      const std::size_t bytes = sizeof(T) - i < 8 ? sizeof(T) - i : 8;
      std::uint64_t part = 0;
      std::memcpy(&part, from + i, bytes);
      part = warp(line, mask, Vote::kShuffle, part, source, 32);
      std::memcpy(to + i, &part, bytes);
    }
    return out;
  }
}

inline unsigned lanes_below() {
  return (1u << lane()) - 1;
}

}  // namespace leap_cuda

namespace cooperative_groups {

namespace details {

/// Lanes of one warp. Ranks follow the lanes.
class lanes {
 public:
  unsigned mask_of() const { return mask_; }
  void sync(LEAP_LINE) const { leap_cuda::warp(leap_line, mask_, leap_cuda::Vote::kSync, 0, 0, 32); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcount(mask_ & leap_cuda::lanes_below()));
  }
  unsigned size() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  unsigned num_threads() const { return size(); }
  template <class T>
  T shfl(T value, int rank, LEAP_LINE) const {
    return leap_cuda::lane_value(mask_, value, lane_of(rank), leap_line);
  }
  template <class T>
  T shfl_up(T value, unsigned distance, LEAP_LINE) const {
    const int rank = static_cast<int>(thread_rank()), from = rank - static_cast<int>(distance);
    return leap_cuda::lane_value(mask_, value, lane_of(from < 0 ? rank : from), leap_line);
  }
  template <class T>
  T shfl_down(T value, unsigned distance, LEAP_LINE) const {
    const int rank = static_cast<int>(thread_rank()), from = rank + static_cast<int>(distance);
    return leap_cuda::lane_value(mask_, value, lane_of(from >= static_cast<int>(size()) ? rank : from),
                                 leap_line);
  }
  template <class T>
  T shfl_xor(T value, unsigned bits, LEAP_LINE) const {
    const int rank = static_cast<int>(thread_rank()), from = rank ^ static_cast<int>(bits);
    return leap_cuda::lane_value(mask_, value, lane_of(from >= static_cast<int>(size()) ? rank : from),
                                 leap_line);
  }
  int any(int p, LEAP_LINE) const { return __any_sync(mask_, p, leap_line); }
  int all(int p, LEAP_LINE) const { return __all_sync(mask_, p, leap_line); }
  unsigned ballot(int p, LEAP_LINE) const { return pack(__ballot_sync(mask_, p, leap_line)); }
  template <class T>
  unsigned match_any(T value, LEAP_LINE) const {
    return pack(__match_any_sync(mask_, value, leap_line));
  }
  template <class T>
  unsigned match_all(T value, int& all, LEAP_LINE) const {
    return pack(__match_all_sync(mask_, value, &all, leap_line));
  }

 protected:
  explicit lanes(unsigned mask) : mask_(mask) {}
  int lane_of(int rank) const {
    unsigned left = mask_;
    for (; rank > 0 && left; --rank) left &= left - 1;
    return left ? __builtin_ctz(left) : 0;
  }
  /// Lanes as ranks.
  unsigned pack(unsigned bits) const {
    unsigned out = 0, rank = 0;
    for (unsigned left = mask_; left; left &= left - 1, ++rank)
      if (bits >> __builtin_ctz(left) & 1) out |= 1u << rank;
    return out;
  }
  unsigned mask_;
};

inline unsigned tile_mask(unsigned threads) {
  const unsigned ones = threads >= 32 ? 0xffffffffu : (1u << threads) - 1;
  return ones << (leap_cuda::lane() / threads * threads);
}

}  // namespace details

class thread_block {
 public:
  void sync(LEAP_LINE) const { leap_cuda::barrier(leap_line); }
  unsigned thread_rank() const { return leap_cuda::thread_rank(); }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned num_threads() const { return size(); }
  dim3 group_index() const { return blockIdx; }
  dim3 thread_index() const { return threadIdx; }
  dim3 group_dim() const { return blockDim; }
  dim3 dim_threads() const { return blockDim; }
  struct arrival_token {};
};
inline thread_block this_thread_block() {
  return {};
}

class grid_group {
 public:
  void sync(LEAP_LINE) const { leap_cuda::grid_barrier(leap_line); }
  bool is_valid() const { return true; }
  unsigned long long size() const { return num_blocks() * blockDim.x * blockDim.y * blockDim.z; }
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const {
    return block_rank() * blockDim.x * blockDim.y * blockDim.z + leap_cuda::thread_rank();
  }
  unsigned long long num_blocks() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  unsigned long long block_rank() const {
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) *
                            (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
  }
  dim3 group_dim() const { return gridDim; }
  dim3 dim_blocks() const { return gridDim; }
  dim3 block_index() const { return blockIdx; }
};
inline grid_group this_grid() {
  return {};
}

template <unsigned N, class Parent = void>
class thread_block_tile : public details::lanes {
  static_assert(N <= 32 && (N & (N - 1)) == 0 && N > 0, "tiles of 1, 2, 4, 8, 16 or 32 threads");

 public:
  thread_block_tile() : lanes(details::tile_mask(N)) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<N, Other>&) : lanes(details::tile_mask(N)) {}
  unsigned thread_rank() const { return leap_cuda::lane() % N; }
  static constexpr unsigned size() { return N; }
  static constexpr unsigned num_threads() { return N; }
  unsigned meta_group_size() const { return (blockDim.x * blockDim.y * blockDim.z + N - 1) / N; }
  unsigned meta_group_rank() const { return leap_cuda::thread_rank() / N; }
  template <class T>
  T shfl(T value, int rank, LEAP_LINE) const {
    return leap_cuda::lane_value(mask_, value, base() + (rank & static_cast<int>(N - 1)), leap_line);
  }
  template <class T>
  T shfl_up(T value, unsigned distance, LEAP_LINE) const {
    const unsigned rank = thread_rank();
    return leap_cuda::lane_value(
        mask_, value, base() + static_cast<int>(distance > rank ? rank : rank - distance), leap_line);
  }
  template <class T>
  T shfl_down(T value, unsigned distance, LEAP_LINE) const {
    const unsigned rank = thread_rank();
    return leap_cuda::lane_value(
        mask_, value, base() + static_cast<int>(rank + distance >= N ? rank : rank + distance), leap_line);
  }
  template <class T>
  T shfl_xor(T value, unsigned bits, LEAP_LINE) const {
    const unsigned from = thread_rank() ^ bits;
    return leap_cuda::lane_value(mask_, value, base() + static_cast<int>(from >= N ? thread_rank() : from),
                                 leap_line);
  }

 private:
  int base() const { return static_cast<int>(leap_cuda::lane() / N * N); }
};

class coalesced_group : public details::lanes {
 public:
  explicit coalesced_group(unsigned mask) : lanes(mask) {}
  template <unsigned N, class P>
  coalesced_group(const thread_block_tile<N, P>& tile) : lanes(tile.mask_of()) {}
  unsigned meta_group_size() const { return 1; }
  unsigned meta_group_rank() const { return 0; }
};
inline coalesced_group coalesced_threads(LEAP_LINE) {
  return coalesced_group(__activemask(leap_line));
}

/// Any of the groups, or a tile whose size is known at run time only.
class thread_group {
 public:
  thread_group(const thread_block&) : mask_(0) {}
  thread_group(const coalesced_group& group) : mask_(group.mask_of()) {}
  template <unsigned N, class P>
  thread_group(const thread_block_tile<N, P>& tile) : mask_(tile.mask_of()) {}
  explicit thread_group(unsigned mask) : mask_(mask) {}
  void sync(LEAP_LINE) const {
    if (mask_)
      leap_cuda::warp(leap_line, mask_, leap_cuda::Vote::kSync, 0, 0, 32);
    else
      leap_cuda::barrier(leap_line);
  }
  unsigned thread_rank() const {
    return mask_ ? static_cast<unsigned>(__builtin_popcount(mask_ & leap_cuda::lanes_below()))
                 : leap_cuda::thread_rank();
  }
  unsigned size() const {
    return mask_ ? static_cast<unsigned>(__builtin_popcount(mask_)) : blockDim.x * blockDim.y * blockDim.z;
  }
  unsigned num_threads() const { return size(); }

 private:
  unsigned mask_;  // 0: the block
};
inline thread_group this_thread() {
  return thread_group(1u << leap_cuda::lane());
}

template <unsigned N, class Group>
inline thread_block_tile<N, Group> tiled_partition(const Group&) {
  return {};
}
template <class Group>
inline thread_group tiled_partition(const Group&, unsigned threads) {
  return thread_group(details::tile_mask(threads));
}
inline coalesced_group binary_partition(const coalesced_group& group, bool p, LEAP_LINE) {
  const unsigned yes = __ballot_sync(group.mask_of(), p, leap_line);
  return coalesced_group(p ? yes : group.mask_of() & ~yes);
}
template <class T>
inline coalesced_group labeled_partition(const coalesced_group& group, T label, LEAP_LINE) {
  return coalesced_group(__match_any_sync(group.mask_of(), label, leap_line));
}

template <class Group>
inline void sync(const Group& group, LEAP_LINE) {
  group.sync(leap_line);
}
template <class Group>
inline unsigned thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
inline unsigned group_size(const Group& group) {
  return group.size();
}

template <class T = void>
struct plus {
  T operator()(const T& a, const T& b) const { return a + b; }
};
template <class T = void>
struct less {
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <class T = void>
struct greater {
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T = void>
struct bit_and {
  T operator()(const T& a, const T& b) const { return a & b; }
};
template <class T = void>
struct bit_or {
  T operator()(const T& a, const T& b) const { return a | b; }
};
template <class T = void>
struct bit_xor {
  T operator()(const T& a, const T& b) const { return a ^ b; }
};

/// All lanes get all values, combined in the order of a tree.
template <class Group, class T, class F>
inline T reduce(const Group& group, const T& value, F combine, LEAP_LINE) {
  T all = value;
  const unsigned n = group.size(), rank = group.thread_rank();
  unsigned width = 1;
  while (width < n) width *= 2;
  for (unsigned step = width / 2; step > 0; step /= 2) {
    const T other = group.shfl_down(all, step, leap_line);
    if (rank + step < n) all = combine(all, other);
  }
  return group.shfl(all, 0, leap_line);
}
template <class Group, class T, class F>
inline T inclusive_scan(const Group& group, const T& value, F combine, LEAP_LINE) {
  T all = value;
  const unsigned n = group.size(), rank = group.thread_rank();
  for (unsigned step = 1; step < n; step *= 2) {
    const T other = group.shfl_up(all, step, leap_line);
    if (rank >= step) all = combine(other, all);
  }
  return all;
}
template <class Group, class T>
inline T inclusive_scan(const Group& group, const T& value, LEAP_LINE) {
  return inclusive_scan(group, value, plus<T>(), leap_line);
}
template <class Group, class T, class F>
inline T exclusive_scan(const Group& group, const T& value, F combine, LEAP_LINE) {
  const T all = inclusive_scan(group, value, combine, leap_line);
  const T before = group.shfl_up(all, 1, leap_line);
  return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T>
inline T exclusive_scan(const Group& group, const T& value, LEAP_LINE) {
  return exclusive_scan(group, value, plus<T>(), leap_line);
}

/// The group's threads copy together; done at once.
template <class Group, class T, class S, class Shape>
inline void memcpy_async(const Group& group, T* to, const S* from, Shape bytes) {
  const std::size_t n = static_cast<std::size_t>(bytes), each = group.size();
  auto* d = reinterpret_cast<unsigned char*>(to);
  const auto* s = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = group.thread_rank() * 16; i < n; i += each * 16)
    std::memcpy(d + i, s + i, n - i < 16 ? n - i : 16);
}
template <class Group>
inline void wait(const Group& group, LEAP_LINE) {
  group.sync(leap_line);
}
template <unsigned N, class Group>
inline void wait_prior(const Group& group, LEAP_LINE) {
  group.sync(leap_line);
}
template <class Group, class F>
inline void invoke_one(const Group& group, F&& f) {
  if (group.thread_rank() == 0) f();
}

}  // namespace cooperative_groups
