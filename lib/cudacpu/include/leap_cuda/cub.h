// cub: primitives of warps, blocks and the device, by the simplest algorithm that keeps to their rules.
#pragma once

#include "leap_cuda/on_device.h"

#define CUB_VERSION 200400
#define CUB_PTX_WARP_THREADS 32
#ifndef CubDebugExit
#define CubDebug(e) (e)
#define CubDebugExit(e) (e)
#endif

namespace cub {

// --- operators and small things
// ---------------------------------------------------------------------------------------
struct Sum {
  template <class T, class U>
  auto operator()(const T& a, const U& b) const -> decltype(a + b) {
    return a + b;
  }
};
struct Difference {
  template <class T, class U>
  auto operator()(const T& a, const U& b) const -> decltype(a - b) {
    return a - b;
  }
};
struct Max {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct Equality {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};
struct Inequality {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a != b;
  }
};
template <class K, class V>
struct KeyValuePair {
  typedef K Key;
  typedef V Value;
  K key;
  V value;
  bool operator!=(const KeyValuePair& o) const { return key != o.key || value != o.value; }
};
struct ArgMax {
  template <class T, class I>
  KeyValuePair<I, T> operator()(const KeyValuePair<I, T>& a, const KeyValuePair<I, T>& b) const {
    return b.value > a.value || (b.value == a.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class T, class I>
  KeyValuePair<I, T> operator()(const KeyValuePair<I, T>& a, const KeyValuePair<I, T>& b) const {
    return b.value < a.value || (b.value == a.value && b.key < a.key) ? b : a;
  }
};
template <class T>
struct Uninitialized {
  alignas(T) unsigned char bytes[sizeof(T)];
  T& Alias() { return *reinterpret_cast<T*>(bytes); }
};
struct NullType {};
inline unsigned LaneId() {
  return leap_cuda::lane();
}
inline unsigned WarpId() {
  return leap_cuda::thread_rank() / 32;
}
inline void CTA_SYNC() {
  __syncthreads();
}
inline int RowMajorTid(int, int, int) {
  return static_cast<int>(leap_cuda::thread_rank());
}
template <class T>
constexpr T DivideAndRoundUp(T a, T b) {
  return (a + b - 1) / b;
}
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <CacheLoadModifier M, class It>
inline auto ThreadLoad(It at) -> std::decay_t<decltype(*at)> {
  return *at;
}
template <CacheStoreModifier M, class It, class T>
inline void ThreadStore(It at, T value) {
  *at = value;
}
template <class T>
struct DoubleBuffer {
  T* d_buffers[2];
  int selector = 0;
  DoubleBuffer() : d_buffers{nullptr, nullptr} {}
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

template <class T, class Offset = std::ptrdiff_t>
struct CountingInputIterator {
  using value_type = T;
  T from;
  explicit CountingInputIterator(T v) : from(v) {}
  T operator[](Offset i) const { return from + static_cast<T>(i); }
  T operator*() const { return from; }
  CountingInputIterator operator+(Offset i) const { return CountingInputIterator(from + static_cast<T>(i)); }
};
template <class T, class Offset = std::ptrdiff_t>
struct ConstantInputIterator {
  using value_type = T;
  T value;
  explicit ConstantInputIterator(T v) : value(v) {}
  T operator[](Offset) const { return value; }
  T operator*() const { return value; }
  ConstantInputIterator operator+(Offset) const { return *this; }
};
template <class T, class F, class It, class Offset = std::ptrdiff_t>
struct TransformInputIterator {
  using value_type = T;
  It from;
  F f;
  TransformInputIterator(It it, F op) : from(it), f(op) {}
  T operator[](Offset i) const { return f(from[i]); }
  T operator*() const { return f(*from); }
  TransformInputIterator operator+(Offset i) const { return TransformInputIterator(from + i, f); }
};
template <class It, class Offset = int>
struct ArgIndexInputIterator {
  using Value = std::decay_t<decltype(std::declval<It>()[0])>;
  using value_type = KeyValuePair<Offset, Value>;
  It from;
  explicit ArgIndexInputIterator(It it) : from(it) {}
  value_type operator[](Offset i) const { return {i, from[i]}; }
};
struct DiscardOutputIterator {
  struct Sink {
    template <class T>
    void operator=(const T&) const {}
  };
  Sink operator[](std::ptrdiff_t) const { return {}; }
  Sink operator*() const { return {}; }
};

// --- warps
// -------------------------------------------------------------------------------------------------------------
namespace details {
template <int N>
struct Lanes {
  static constexpr int kThreads = N;
  static unsigned rank() { return leap_cuda::lane() % N; }
  static unsigned mask() {
    return N == 32 ? 0xffffffffu : ((1u << N % 32) - 1) << (leap_cuda::lane() / N * N);
  }
  /// Lanes of a last warp that is not full.
  static unsigned live() {
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z, begin = leap_cuda::thread_rank() / 32 * 32;
    const unsigned n = threads - begin;
    return mask() & (n >= 32 ? 0xffffffffu : (1u << n) - 1);
  }
  template <class T>
  static T from(const T& value, unsigned other) {
    return leap_cuda::lane_value(live(), value, static_cast<int>(leap_cuda::lane() / N * N + other), 0);
  }
};
}  // namespace details

template <class T, int N = 32, int = 0>
class WarpReduce {
 public:
  struct TempStorage {};
  explicit WarpReduce(TempStorage&) {}
  T Sum(T v) { return Reduce(v, cub::Sum()); }
  T Sum(T v, int valid) { return Reduce(v, cub::Sum(), valid); }
  template <class F>
  T Reduce(T v, F f) {
    return Reduce(v, f, N);
  }
  template <class F>
  T Reduce(T v, F f, int valid) {
    const unsigned rank = L::rank(), live = static_cast<unsigned>(__builtin_popcount(L::live()));
    const unsigned n = static_cast<unsigned>(valid) < live ? static_cast<unsigned>(valid) : live;
    T all = v;
    for (unsigned step = N / 2; step > 0; step /= 2) {
      const unsigned other = rank + step;
      const T got = L::from(all, other < live ? other : rank);
      if (other < n) all = f(all, got);
    }
    return rank == 0 ? all : v;
  }
  template <class Flag>
  T HeadSegmentedSum(T v, Flag head) {
    return segments(v, head, cub::Sum(), true);
  }
  template <class Flag, class F>
  T HeadSegmentedReduce(T v, Flag head, F f) {
    return segments(v, head, f, true);
  }
  template <class Flag>
  T TailSegmentedSum(T v, Flag tail) {
    return segments(v, tail, cub::Sum(), false);
  }
  template <class Flag, class F>
  T TailSegmentedReduce(T v, Flag tail, F f) {
    return segments(v, tail, f, false);
  }

 private:
  using L = details::Lanes<N>;
  template <class Flag, class F>
  T segments(T v, Flag flag, F f, bool head) {
    const unsigned flags = __ballot_sync(L::live(), flag) >> (leap_cuda::lane() / N * N);
    T all = v;
    bool on = true;
    const unsigned rank = L::rank(), live = static_cast<unsigned>(__builtin_popcount(L::live()));
    for (unsigned other = 1; other < live; ++other) {
      const unsigned at = rank + other;
      const T got = L::from(v, at < live ? at : rank);
      if (at >= live || (head ? flags >> at & 1 : flags >> (at - 1) & 1)) on = false;
      if (on) all = f(all, got);
    }
    return all;
  }
};

template <class T, int N = 32, int = 0>
class WarpScan {
 public:
  struct TempStorage {};
  explicit WarpScan(TempStorage&) {}
  void InclusiveSum(T v, T& out) { InclusiveScan(v, out, cub::Sum()); }
  void InclusiveSum(T v, T& out, T& all) { InclusiveScan(v, out, cub::Sum(), all); }
  void ExclusiveSum(T v, T& out) { ExclusiveScan(v, out, T(), cub::Sum()); }
  void ExclusiveSum(T v, T& out, T& all) { ExclusiveScan(v, out, T(), cub::Sum(), all); }
  template <class F>
  void InclusiveScan(T v, T& out, F f) {
    T all;
    InclusiveScan(v, out, f, all);
  }
  template <class F>
  void InclusiveScan(T v, T& out, F f, T& aggregate) {
    const unsigned rank = L::rank();
    T all = v;
    for (unsigned step = 1; step < N; step *= 2) {
      const T got = L::from(all, rank >= step ? rank - step : rank);
      if (rank >= step) all = f(got, all);
    }
    out = all;
    aggregate = L::from(all, static_cast<unsigned>(__builtin_popcount(L::live())) - 1);
  }
  template <class F>
  void ExclusiveScan(T v, T& out, F f) {
    T all, inclusive;
    InclusiveScan(v, inclusive, f, all);
    const T before = L::from(inclusive, L::rank() ? L::rank() - 1 : 0);
    if (L::rank()) out = before;
  }
  template <class F>
  void ExclusiveScan(T v, T& out, T init, F f) {
    T all;
    ExclusiveScan(v, out, init, f, all);
  }
  template <class F>
  void ExclusiveScan(T v, T& out, T init, F f, T& aggregate) {
    T inclusive;
    InclusiveScan(v, inclusive, f, aggregate);
    const T before = L::from(inclusive, L::rank() ? L::rank() - 1 : 0);
    out = L::rank() ? f(init, before) : init;
  }
  template <class F>
  void Scan(T v, T& inclusive, T& exclusive, T init, F f) {
    InclusiveScan(v, inclusive, f);
    ExclusiveScan(v, exclusive, init, f);
  }
  T Broadcast(T v, unsigned lane) { return L::from(v, lane); }

 private:
  using L = details::Lanes<N>;
};

// --- blocks
// ------------------------------------------------------------------------------------------------------------
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

namespace details {
inline unsigned rank() {
  return leap_cuda::thread_rank();
}
}  // namespace details

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
 public:
  struct TempStorage {
    T values[X * Y * Z];
  };
  explicit BlockReduce(TempStorage& temp) : temp_(temp) {}
  T Sum(T v) { return Reduce(v, cub::Sum()); }
  T Sum(T v, int valid) { return Reduce(v, cub::Sum(), valid); }
  template <int ITEMS>
  T Sum(T (&items)[ITEMS]) {
    return Reduce(items, cub::Sum());
  }
  template <class F>
  T Reduce(T v, F f) {
    return Reduce(v, f, X * Y * Z);
  }
  template <int ITEMS, class F>
  T Reduce(T (&items)[ITEMS], F f) {
    T all = items[0];
    for (int i = 1; i < ITEMS; ++i) all = f(all, items[i]);
    return Reduce(all, f);
  }
  template <class F>
  T Reduce(T v, F f, int valid) {
    if (details::rank() != 0) temp_.values[details::rank()] = v;
    leap_cuda::barrier(0);
    if (details::rank() != 0) return v;
    T all = v;
    for (int i = 1; i < X * Y * Z && i < valid; ++i) all = f(all, temp_.values[i]);
    return all;
  }

 private:
  TempStorage& temp_;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
 public:
  struct TempStorage {
    T values[X * Y * Z], aggregate, prefix;
  };
  explicit BlockScan(TempStorage& temp) : temp_(temp) {}
  void InclusiveSum(T v, T& out) { InclusiveScan(v, out, Sum()); }
  void InclusiveSum(T v, T& out, T& all) { InclusiveScan(v, out, Sum(), all); }
  template <class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))>
  void InclusiveSum(T v, T& out, Prefix& prefix) {
    InclusiveScan(v, out, Sum(), prefix);
  }
  void ExclusiveSum(T v, T& out) { ExclusiveScan(v, out, T(), Sum()); }
  void ExclusiveSum(T v, T& out, T& all) { ExclusiveScan(v, out, T(), Sum(), all); }
  template <class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))>
  void ExclusiveSum(T v, T& out, Prefix& prefix) {
    ExclusiveScan(v, out, Sum(), prefix);
  }
  template <class F>
  void InclusiveScan(T v, T& out, F f) {
    run(v, f);
    out = temp_.values[details::rank()];
  }
  template <class F>
  void InclusiveScan(T v, T& out, F f, T& all) {
    InclusiveScan(v, out, f);
    all = temp_.aggregate;
  }
  template <class F, class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))>
  void InclusiveScan(T v, T& out, F f, Prefix& prefix) {
    run(v, f);
    out = f(prefixed(prefix), temp_.values[details::rank()]);
  }
  template <class F>
  void ExclusiveScan(T v, T& out, F f) {
    run(v, f);
    if (details::rank()) out = temp_.values[details::rank() - 1];
  }
  template <class F>
  void ExclusiveScan(T v, T& out, T init, F f) {
    run(v, f);
    out = details::rank() ? f(init, temp_.values[details::rank() - 1]) : init;
  }
  template <class F>
  void ExclusiveScan(T v, T& out, T init, F f, T& all) {
    ExclusiveScan(v, out, init, f);
    all = temp_.aggregate;
  }
  template <class F, class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))>
  void ExclusiveScan(T v, T& out, F f, Prefix& prefix) {
    run(v, f);
    const T before = prefixed(prefix);
    out = details::rank() ? f(before, temp_.values[details::rank() - 1]) : before;
  }
  // Several items a thread.
  template <int N>
  void InclusiveSum(T (&in)[N], T (&out)[N]) {
    InclusiveScan(in, out, Sum());
  }
  template <int N>
  void InclusiveSum(T (&in)[N], T (&out)[N], T& all) {
    InclusiveScan(in, out, Sum());
    all = temp_.aggregate;
  }
  template <int N>
  void ExclusiveSum(T (&in)[N], T (&out)[N]) {
    ExclusiveScan(in, out, T(), Sum());
  }
  template <int N>
  void ExclusiveSum(T (&in)[N], T (&out)[N], T& all) {
    ExclusiveScan(in, out, T(), Sum());
    all = temp_.aggregate;
  }
  template <int N, class F>
  void InclusiveScan(T (&in)[N], T (&out)[N], F f) {
    T part[N];
    inside(in, part, f);
    run(part[N - 1], f);
    for (int i = 0; i < N; ++i)
      out[i] = details::rank() ? f(temp_.values[details::rank() - 1], part[i]) : part[i];
  }
  template <int N, class F>
  void ExclusiveScan(T (&in)[N], T (&out)[N], T init, F f) {
    T part[N];
    inside(in, part, f);
    run(part[N - 1], f);
    const T before = details::rank() ? f(init, temp_.values[details::rank() - 1]) : init;
    for (int i = N - 1; i > 0; --i) out[i] = f(before, part[i - 1]);
    out[0] = before;
  }
  template <int N, class F>
  void ExclusiveScan(T (&in)[N], T (&out)[N], T init, F f, T& all) {
    ExclusiveScan(in, out, init, f);
    all = temp_.aggregate;
  }

 private:
  template <int N, class F>
  static void inside(T (&in)[N], T (&part)[N], F f) {
    part[0] = in[0];
    for (int i = 1; i < N; ++i) part[i] = f(part[i - 1], in[i]);
  }
  template <class F>
  void run(T v, F f) {
    temp_.values[details::rank()] = v;
    leap_cuda::barrier(0);
    if (details::rank() == 0) {
      for (int i = 1; i < X * Y * Z; ++i) temp_.values[i] = f(temp_.values[i - 1], temp_.values[i]);
      temp_.aggregate = temp_.values[X * Y * Z - 1];
    }
    leap_cuda::barrier(0);
  }
  /// The first warp calls the prefix's operator; its first lane's answer counts.
  template <class Prefix>
  T prefixed(Prefix& prefix) {
    if (details::rank() < 32) {
      const T mine = prefix(temp_.aggregate);
      if (details::rank() == 0) temp_.prefix = mine;
    }
    leap_cuda::barrier(0);
    return temp_.prefix;
  }
  TempStorage& temp_;
};

template <class T, int X, int ITEMS, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
 public:
  struct TempStorage {};
  BlockLoad() = default;
  explicit BlockLoad(TempStorage&) {}
  template <class It>
  void Load(It from, T (&items)[ITEMS]) {
    for (int i = 0; i < ITEMS; ++i) items[i] = from[at(i)];
  }
  template <class It>
  void Load(It from, T (&items)[ITEMS], int valid) {
    for (int i = 0; i < ITEMS; ++i)
      if (at(i) < valid) items[i] = from[at(i)];
  }
  template <class It, class D>
  void Load(It from, T (&items)[ITEMS], int valid, D otherwise) {
    for (int i = 0; i < ITEMS; ++i)
      items[i] = at(i) < valid ? static_cast<T>(from[at(i)]) : static_cast<T>(otherwise);
  }

 private:
  static int at(int i) {
    const int rank = static_cast<int>(details::rank());
    return A == BLOCK_LOAD_STRIPED ? i * X * Y * Z + rank : rank * ITEMS + i;
  }
};

template <class T, int X, int ITEMS, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1,
          int = 0>
class BlockStore {
 public:
  struct TempStorage {};
  BlockStore() = default;
  explicit BlockStore(TempStorage&) {}
  template <class It>
  void Store(It to, T (&items)[ITEMS]) {
    for (int i = 0; i < ITEMS; ++i) to[at(i)] = items[i];
  }
  template <class It>
  void Store(It to, T (&items)[ITEMS], int valid) {
    for (int i = 0; i < ITEMS; ++i)
      if (at(i) < valid) to[at(i)] = items[i];
  }

 private:
  static int at(int i) {
    const int rank = static_cast<int>(details::rank());
    return A == BLOCK_STORE_STRIPED ? i * X * Y * Z + rank : rank * ITEMS + i;
  }
};

template <int X, class T, class It, int ITEMS>
inline void LoadDirectStriped(int rank, It from, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) items[i] = from[rank + i * X];
}
template <class T, int ITEMS, class It>
inline void LoadDirectBlocked(int rank, It from, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) items[i] = from[rank * ITEMS + i];
}
template <int X, class T, class It, int ITEMS>
inline void StoreDirectStriped(int rank, It to, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) to[rank + i * X] = items[i];
}
template <class T, int ITEMS, class It>
inline void StoreDirectBlocked(int rank, It to, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) to[rank * ITEMS + i] = items[i];
}

template <class T, int X, int ITEMS, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
 public:
  struct TempStorage {
    T values[X * Y * Z * ITEMS];
  };
  explicit BlockExchange(TempStorage& temp) : temp_(temp) {}
  void StripedToBlocked(T (&in)[ITEMS], T (&out)[ITEMS]) {
    move(
        in, out, [](int i) { return striped(i); }, [](int i) { return blocked(i); });
  }
  void BlockedToStriped(T (&in)[ITEMS], T (&out)[ITEMS]) {
    move(
        in, out, [](int i) { return blocked(i); }, [](int i) { return striped(i); });
  }
  void StripedToBlocked(T (&items)[ITEMS]) { StripedToBlocked(items, items); }
  void BlockedToStriped(T (&items)[ITEMS]) { BlockedToStriped(items, items); }
  template <class R>
  void ScatterToBlocked(T (&in)[ITEMS], T (&out)[ITEMS], R (&ranks)[ITEMS]) {
    move(
        in, out, [&](int i) { return static_cast<int>(ranks[i]); }, [](int i) { return blocked(i); });
  }
  template <class R>
  void ScatterToStriped(T (&in)[ITEMS], T (&out)[ITEMS], R (&ranks)[ITEMS]) {
    move(
        in, out, [&](int i) { return static_cast<int>(ranks[i]); }, [](int i) { return striped(i); });
  }
  template <class R>
  void ScatterToBlocked(T (&items)[ITEMS], R (&ranks)[ITEMS]) {
    ScatterToBlocked(items, items, ranks);
  }
  template <class R>
  void ScatterToStriped(T (&items)[ITEMS], R (&ranks)[ITEMS]) {
    ScatterToStriped(items, items, ranks);
  }

 private:
  static int blocked(int i) { return static_cast<int>(details::rank()) * ITEMS + i; }
  static int striped(int i) { return i * X * Y * Z + static_cast<int>(details::rank()); }
  template <class From, class To>
  void move(T (&in)[ITEMS], T (&out)[ITEMS], From put, To get) {
    for (int i = 0; i < ITEMS; ++i) temp_.values[put(i)] = in[i];
    leap_cuda::barrier(0);
    for (int i = 0; i < ITEMS; ++i) out[i] = temp_.values[get(i)];
  }
  TempStorage& temp_;
};

namespace details {
/// Sorts what the threads of a block hold; by all but the first thread only watching.
template <class K, class V, int COUNT>
struct SortStorage {
  K keys[COUNT];
  V values[COUNT];
  int order[COUNT], spare[COUNT];
};
template <class K, class V, int COUNT, int ITEMS, class Less, class At>
inline void block_sort(SortStorage<K, V, COUNT>& temp, K (&keys)[ITEMS], V* values, Less less, At at) {
  const int first = static_cast<int>(rank()) * ITEMS;
  for (int i = 0; i < ITEMS; ++i) {
    temp.keys[first + i] = keys[i];
    if (values) temp.values[first + i] = values[i];
    temp.order[first + i] = first + i;
  }
  leap_cuda::barrier(0);
  if (rank() == 0)
    leap_cuda::sort_indices(temp.order, temp.spare, COUNT,
                            [&](int a, int b) { return less(temp.keys[a], temp.keys[b]); });
  leap_cuda::barrier(0);
  for (int i = 0; i < ITEMS; ++i) {
    keys[i] = temp.keys[temp.order[at(i)]];
    if (values) values[i] = temp.values[temp.order[at(i)]];
  }
}
template <class T>
struct ValueOf {
  using Type = T;
};
template <>
struct ValueOf<NullType> {
  using Type = char;
};
}  // namespace details

template <class K, int X, int ITEMS, class V = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
  using Value = typename details::ValueOf<V>::Type;

 public:
  using TempStorage = details::SortStorage<K, Value, X * Y * Z * ITEMS>;
  explicit BlockRadixSort(TempStorage& temp) : temp_(temp) {}
  void Sort(K (&keys)[ITEMS], int begin = 0, int end = sizeof(K) * 8) {
    run(keys, nullptr, begin, end, false, false);
  }
  void Sort(K (&keys)[ITEMS], Value (&values)[ITEMS], int begin = 0, int end = sizeof(K) * 8) {
    run(keys, values, begin, end, false, false);
  }
  void SortDescending(K (&keys)[ITEMS], int begin = 0, int end = sizeof(K) * 8) {
    run(keys, nullptr, begin, end, true, false);
  }
  void SortDescending(K (&keys)[ITEMS], Value (&values)[ITEMS], int begin = 0, int end = sizeof(K) * 8) {
    run(keys, values, begin, end, true, false);
  }
  void SortBlockedToStriped(K (&keys)[ITEMS], int begin = 0, int end = sizeof(K) * 8) {
    run(keys, nullptr, begin, end, false, true);
  }
  void SortBlockedToStriped(K (&keys)[ITEMS], Value (&values)[ITEMS], int begin = 0,
                            int end = sizeof(K) * 8) {
    run(keys, values, begin, end, false, true);
  }
  void SortDescendingBlockedToStriped(K (&keys)[ITEMS], int begin = 0, int end = sizeof(K) * 8) {
    run(keys, nullptr, begin, end, true, true);
  }
  void SortDescendingBlockedToStriped(K (&keys)[ITEMS], Value (&values)[ITEMS], int begin = 0,
                                      int end = sizeof(K) * 8) {
    run(keys, values, begin, end, true, true);
  }

 private:
  void run(K (&keys)[ITEMS], Value* values, int begin, int end, bool down, bool striped) {
    const std::uint64_t bits = leap_cuda::bit_range(begin, end);
    details::block_sort(
        temp_, keys, values,
        [=](const K& a, const K& b) {
          const std::uint64_t x = leap_cuda::radix_bits(a) & bits, y = leap_cuda::radix_bits(b) & bits;
          return down ? y < x : x < y;
        },
        [=](int i) {
          const int rank = static_cast<int>(details::rank());
          return striped ? i * X * Y * Z + rank : rank * ITEMS + i;
        });
  }
  TempStorage& temp_;
};

template <class K, int X, int ITEMS, class V = NullType, int Y = 1, int Z = 1>
class BlockMergeSort {
  using Value = typename details::ValueOf<V>::Type;

 public:
  using TempStorage = details::SortStorage<K, Value, X * Y * Z * ITEMS>;
  explicit BlockMergeSort(TempStorage& temp) : temp_(temp) {}
  template <class F>
  void Sort(K (&keys)[ITEMS], F less) {
    details::block_sort(temp_, keys, static_cast<Value*>(nullptr), less, at);
  }
  template <class F>
  void Sort(K (&keys)[ITEMS], Value (&values)[ITEMS], F less) {
    details::block_sort(temp_, keys, values, less, at);
  }
  template <class F>
  void StableSort(K (&keys)[ITEMS], F less) {
    Sort(keys, less);
  }
  template <class F>
  void StableSort(K (&keys)[ITEMS], Value (&values)[ITEMS], F less) {
    Sort(keys, values, less);
  }

 private:
  static int at(int i) { return static_cast<int>(details::rank()) * ITEMS + i; }
  TempStorage& temp_;
};

template <class T, int X, int ITEMS, int BINS, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1,
          int Z = 1, int = 0>
class BlockHistogram {
 public:
  struct TempStorage {};
  explicit BlockHistogram(TempStorage&) {}
  template <class C>
  void InitHistogram(C (&bins)[BINS]) {
    for (unsigned i = details::rank(); i < BINS; i += X * Y * Z) bins[i] = 0;
  }
  template <class C>
  void Histogram(T (&items)[ITEMS], C (&bins)[BINS]) {
    InitHistogram(bins);
    leap_cuda::barrier(0);
    Composite(items, bins);
  }
  template <class C>
  void Composite(T (&items)[ITEMS], C (&bins)[BINS]) {
    for (int i = 0; i < ITEMS; ++i) atomicAdd(&bins[items[i]], C(1));
  }
};

template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockDiscontinuity {
 public:
  struct TempStorage {
    T first[X * Y * Z], last[X * Y * Z];
  };
  explicit BlockDiscontinuity(TempStorage& temp) : temp_(temp) {}
  template <int ITEMS, class Flag, class F>
  void FlagHeads(Flag (&flags)[ITEMS], T (&items)[ITEMS], F differs) {
    share(items);
    for (int i = 0; i < ITEMS; ++i)
      flags[i] = i > 0 ? differs(items[i - 1], items[i])
                       : details::rank() == 0 || differs(temp_.last[details::rank() - 1], items[0]);
  }
  template <int ITEMS, class Flag, class F>
  void FlagTails(Flag (&flags)[ITEMS], T (&items)[ITEMS], F differs) {
    share(items);
    for (int i = 0; i < ITEMS; ++i)
      flags[i] = i < ITEMS - 1 ? differs(items[i], items[i + 1])
                               : details::rank() == X * Y * Z - 1 ||
                                     differs(items[i], temp_.first[details::rank() + 1]);
  }

 private:
  template <int ITEMS>
  void share(T (&items)[ITEMS]) {
    temp_.first[details::rank()] = items[0];
    temp_.last[details::rank()] = items[ITEMS - 1];
    leap_cuda::barrier(0);
  }
  TempStorage& temp_;
};

// --- the device
// ----------------------------------------------------------------------------------------------------------
namespace details {
/// The first of the two calls that every function of the device is made in: how much memory it wants.
inline bool asks(void* temp, std::size_t& bytes, std::size_t wanted = 1) {
  if (temp) return false;
  bytes = wanted + 255;
  return true;
}
template <class It>
using ValueAt = std::decay_t<decltype(std::declval<It>()[0])>;
}  // namespace details

struct DeviceReduce {
  template <class In, class Out, class N, class F, class T>
  static cudaError_t Reduce(void* temp, std::size_t& bytes, In in, Out out, N n, F f, T init,
                            cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceReduce",
        [=] {
          T all = init;
          for (N i = 0; i < n; ++i) all = f(all, in[i]);
          *out = all;
        },
        stream);
    return cudaSuccess;
  }
  template <class In, class Out, class N>
  static cudaError_t Sum(void* temp, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = 0) {
    return Reduce(temp, bytes, in, out, n, cub::Sum(), details::ValueAt<In>(), stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Min(void* temp, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = 0) {
    return Reduce(temp, bytes, in, out, n, cub::Min(), top<details::ValueAt<In>>(), stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Max(void* temp, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = 0) {
    return Reduce(temp, bytes, in, out, n, cub::Max(), bottom<details::ValueAt<In>>(), stream);
  }
  template <class In, class Out, class N>
  static cudaError_t ArgMin(void* temp, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = 0) {
    return arg(temp, bytes, in, out, n, cub::ArgMin(), stream);
  }
  template <class In, class Out, class N>
  static cudaError_t ArgMax(void* temp, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = 0) {
    return arg(temp, bytes, in, out, n, cub::ArgMax(), stream);
  }
  template <class In, class Out, class N, class F, class U, class T>
  static cudaError_t TransformReduce(void* temp, std::size_t& bytes, In in, Out out, N n, F f, U u, T init,
                                     cudaStream_t stream = 0) {
    return Reduce(temp, bytes, TransformInputIterator<T, U, In>(in, u), out, n, f, init, stream);
  }
  template <class Keys, class Unique, class Values, class Sums, class Runs, class F, class N>
  static cudaError_t ReduceByKey(void* temp, std::size_t& bytes, Keys keys, Unique unique, Values values,
                                 Sums sums, Runs runs, F f, N n, cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceReduce::ReduceByKey",
        [=] {
          N count = 0;
          for (N i = 0; i < n;) {
            auto all = static_cast<details::ValueAt<Values>>(values[i]);
            N j = i + 1;
            for (; j < n && keys[j] == keys[i]; ++j) all = f(all, values[j]);
            unique[count] = keys[i];
            sums[count] = all;
            ++count;
            i = j;
          }
          *runs = count;
        },
        stream);
    return cudaSuccess;
  }

 private:
  template <class T>
  static T top() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return std::numeric_limits<T>::max();
    else
      return std::numeric_limits<T>::is_specialized ? std::numeric_limits<T>::max() : T(65504.0f);
  }
  template <class T>
  static T bottom() {
    return std::numeric_limits<T>::is_specialized ? std::numeric_limits<T>::lowest() : T(-65504.0f);
  }
  template <class In, class Out, class N, class F>
  static cudaError_t arg(void* temp, std::size_t& bytes, In in, Out out, N n, F f, cudaStream_t stream) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceReduce",
        [=] {
          KeyValuePair<int, details::ValueAt<In>> all{0, in[0]};
          for (N i = 1; i < n; ++i)
            all = f(all, KeyValuePair<int, details::ValueAt<In>>{static_cast<int>(i), in[i]});
          *out = all;
        },
        stream);
    return cudaSuccess;
  }
};

struct DeviceScan {
  template <class In, class Out, class N>
  static cudaError_t ExclusiveSum(void* temp, std::size_t& bytes, In in, Out out, N n,
                                  cudaStream_t stream = 0) {
    return ExclusiveScan(temp, bytes, in, out, Sum(), details::ValueAt<In>(), n, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t InclusiveSum(void* temp, std::size_t& bytes, In in, Out out, N n,
                                  cudaStream_t stream = 0) {
    return InclusiveScan(temp, bytes, in, out, Sum(), n, stream);
  }
  template <class T, class N>
  static cudaError_t ExclusiveSum(void* temp, std::size_t& bytes, T* data, N n, cudaStream_t stream = 0) {
    return ExclusiveScan(temp, bytes, data, data, Sum(), T(), n, stream);
  }
  template <class T, class N>
  static cudaError_t InclusiveSum(void* temp, std::size_t& bytes, T* data, N n, cudaStream_t stream = 0) {
    return InclusiveScan(temp, bytes, data, data, Sum(), n, stream);
  }
  template <class In, class Out, class F, class T, class N>
  static cudaError_t ExclusiveScan(void* temp, std::size_t& bytes, In in, Out out, F f, T init, N n,
                                   cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceScan",
        [=] {
          T all = init;
          for (N i = 0; i < n; ++i) {
            const auto here = in[i];
            out[i] = all;
            all = f(all, here);
          }
        },
        stream);
    return cudaSuccess;
  }
  template <class In, class Out, class F, class N>
  static cudaError_t InclusiveScan(void* temp, std::size_t& bytes, In in, Out out, F f, N n,
                                   cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceScan",
        [=] {
          if (n == 0) return;
          auto all = static_cast<details::ValueAt<In>>(in[0]);
          out[0] = all;
          for (N i = 1; i < n; ++i) out[i] = all = f(all, in[i]);
        },
        stream);
    return cudaSuccess;
  }
  template <class Keys, class In, class Out, class N>
  static cudaError_t InclusiveSumByKey(void* temp, std::size_t& bytes, Keys keys, In in, Out out, N n,
                                       cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceScan",
        [=] {
          details::ValueAt<In> all{};
          for (N i = 0; i < n; ++i) {
            all = i > 0 && keys[i] == keys[i - 1] ? all + in[i] : in[i];
            out[i] = all;
          }
        },
        stream);
    return cudaSuccess;
  }
  template <class Keys, class In, class Out, class N>
  static cudaError_t ExclusiveSumByKey(void* temp, std::size_t& bytes, Keys keys, In in, Out out, N n,
                                       cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceScan",
        [=] {
          details::ValueAt<In> all{};
          for (N i = 0; i < n; ++i) {
            if (i == 0 || !(keys[i] == keys[i - 1])) all = details::ValueAt<In>();
            const auto here = in[i];
            out[i] = all;
            all = all + here;
          }
        },
        stream);
    return cudaSuccess;
  }
};

namespace details {
/// Sorts [begin, end) of keys and values out of place; `temp` holds two indices an item.
template <class K, class V, class Less>
inline void sort_span(void* temp, const K* in, K* out, const V* values, V* sorted, std::size_t begin,
                      std::size_t end, Less less) {
  auto* order = reinterpret_cast<unsigned*>((reinterpret_cast<std::size_t>(temp) + 15) / 16 * 16);
  const std::size_t n = end - begin;
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<unsigned>(begin + i);
  leap_cuda::sort_indices(order, order + n, n, [=](unsigned a, unsigned b) { return less(in[a], in[b]); });
  for (std::size_t i = 0; i < n; ++i) {
    out[begin + i] = in[order[i]];
    if (values) sorted[begin + i] = values[order[i]];
  }
}
template <class K>
struct RadixLess {
  std::uint64_t bits;
  bool down;
  bool operator()(const K& a, const K& b) const {
    const std::uint64_t x = leap_cuda::radix_bits(a) & bits, y = leap_cuda::radix_bits(b) & bits;
    return down ? y < x : x < y;
  }
};
template <class K, class V, class N>
inline cudaError_t radix_sort(void* temp, std::size_t& bytes, const K* in, K* out, const V* values, V* sorted,
                              N n, int begin, int end, bool down, cudaStream_t stream) {
  if (asks(temp, bytes, 16 + 2 * sizeof(unsigned) * static_cast<std::size_t>(n))) return cudaSuccess;
  const RadixLess<K> less{leap_cuda::bit_range(begin, end), down};
  leap_cuda::on_device(
      "cub::DeviceRadixSort",
      [=] { sort_span(temp, in, out, values, sorted, 0, static_cast<std::size_t>(n), less); }, stream);
  return cudaSuccess;
}
}  // namespace details

struct DeviceRadixSort {
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* temp, std::size_t& bytes, const K* in, K* out, const V* values,
                               V* sorted, N n, int begin = 0, int end = sizeof(K) * 8,
                               cudaStream_t stream = 0) {
    return details::radix_sort(temp, bytes, in, out, values, sorted, n, begin, end, false, stream);
  }
  template <class K, class V, class N>
  static cudaError_t SortPairsDescending(void* temp, std::size_t& bytes, const K* in, K* out, const V* values,
                                         V* sorted, N n, int begin = 0, int end = sizeof(K) * 8,
                                         cudaStream_t stream = 0) {
    return details::radix_sort(temp, bytes, in, out, values, sorted, n, begin, end, true, stream);
  }
  template <class K, class N>
  static cudaError_t SortKeys(void* temp, std::size_t& bytes, const K* in, K* out, N n, int begin = 0,
                              int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    return details::radix_sort(temp, bytes, in, out, static_cast<const char*>(nullptr),
                               static_cast<char*>(nullptr), n, begin, end, false, stream);
  }
  template <class K, class N>
  static cudaError_t SortKeysDescending(void* temp, std::size_t& bytes, const K* in, K* out, N n,
                                        int begin = 0, int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    return details::radix_sort(temp, bytes, in, out, static_cast<const char*>(nullptr),
                               static_cast<char*>(nullptr), n, begin, end, true, stream);
  }
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* temp, std::size_t& bytes, DoubleBuffer<K>& keys, DoubleBuffer<V>& values,
                               N n, int begin = 0, int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    return flip(temp, keys, values,
                SortPairs(temp, bytes, keys.Current(), keys.Alternate(), values.Current(), values.Alternate(),
                          n, begin, end, stream));
  }
  template <class K, class V, class N>
  static cudaError_t SortPairsDescending(void* temp, std::size_t& bytes, DoubleBuffer<K>& keys,
                                         DoubleBuffer<V>& values, N n, int begin = 0, int end = sizeof(K) * 8,
                                         cudaStream_t stream = 0) {
    return flip(temp, keys, values,
                SortPairsDescending(temp, bytes, keys.Current(), keys.Alternate(), values.Current(),
                                    values.Alternate(), n, begin, end, stream));
  }
  template <class K, class N>
  static cudaError_t SortKeys(void* temp, std::size_t& bytes, DoubleBuffer<K>& keys, N n, int begin = 0,
                              int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    const cudaError_t error = SortKeys(temp, bytes, keys.Current(), keys.Alternate(), n, begin, end, stream);
    if (temp) keys.selector ^= 1;
    return error;
  }
  template <class K, class N>
  static cudaError_t SortKeysDescending(void* temp, std::size_t& bytes, DoubleBuffer<K>& keys, N n,
                                        int begin = 0, int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    const cudaError_t error =
        SortKeysDescending(temp, bytes, keys.Current(), keys.Alternate(), n, begin, end, stream);
    if (temp) keys.selector ^= 1;
    return error;
  }

 private:
  template <class K, class V>
  static cudaError_t flip(void* temp, DoubleBuffer<K>& keys, DoubleBuffer<V>& values, cudaError_t error) {
    if (temp) {
      keys.selector ^= 1;
      values.selector ^= 1;
    }
    return error;
  }
};

struct DeviceMergeSort {
  template <class K, class N, class F>
  static cudaError_t SortKeys(void* temp, std::size_t& bytes, K* keys, N n, F less, cudaStream_t stream = 0) {
    return run(temp, bytes, keys, static_cast<char*>(nullptr), n, less, stream);
  }
  template <class K, class V, class N, class F>
  static cudaError_t SortPairs(void* temp, std::size_t& bytes, K* keys, V* values, N n, F less,
                               cudaStream_t stream = 0) {
    return run(temp, bytes, keys, values, n, less, stream);
  }
  template <class K, class N, class F>
  static cudaError_t StableSortKeys(void* temp, std::size_t& bytes, K* keys, N n, F less,
                                    cudaStream_t stream = 0) {
    return run(temp, bytes, keys, static_cast<char*>(nullptr), n, less, stream);
  }
  template <class K, class V, class N, class F>
  static cudaError_t StableSortPairs(void* temp, std::size_t& bytes, K* keys, V* values, N n, F less,
                                     cudaStream_t stream = 0) {
    return run(temp, bytes, keys, values, n, less, stream);
  }

 private:
  template <class K, class V, class N, class F>
  static cudaError_t run(void* temp, std::size_t& bytes, K* keys, V* values, N n, F less,
                         cudaStream_t stream) {
    const std::size_t count = static_cast<std::size_t>(n);
    if (details::asks(temp, bytes, 64 + count * (8 + sizeof(K) + sizeof(V)))) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceMergeSort",
        [=] {
          auto* order = reinterpret_cast<unsigned*>((reinterpret_cast<std::size_t>(temp) + 15) / 16 * 16);
          auto* k = reinterpret_cast<K*>((reinterpret_cast<std::size_t>(order + 2 * count) + 15) / 16 * 16);
          auto* v = reinterpret_cast<V*>((reinterpret_cast<std::size_t>(k + count) + 15) / 16 * 16);
          for (std::size_t i = 0; i < count; ++i) k[i] = keys[i];
          for (std::size_t i = 0; values && i < count; ++i) v[i] = values[i];
          details::sort_span(order, k, keys, values ? v : nullptr, values, 0, count, less);
        },
        stream);
    return cudaSuccess;
  }
};

struct DeviceSelect {
  template <class In, class Flags, class Out, class Count, class N>
  static cudaError_t Flagged(void* temp, std::size_t& bytes, In in, Flags flags, Out out, Count count, N n,
                             cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceSelect",
        [=] {
          N k = 0;
          for (N i = 0; i < n; ++i)
            if (flags[i]) out[k++] = in[i];
          *count = k;
        },
        stream);
    return cudaSuccess;
  }
  template <class In, class Out, class Count, class N, class F>
  static cudaError_t If(void* temp, std::size_t& bytes, In in, Out out, Count count, N n, F f,
                        cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceSelect",
        [=] {
          N k = 0;
          for (N i = 0; i < n; ++i)
            if (f(in[i])) out[k++] = in[i];
          *count = k;
        },
        stream);
    return cudaSuccess;
  }
  template <class In, class Out, class Count, class N>
  static cudaError_t Unique(void* temp, std::size_t& bytes, In in, Out out, Count count, N n,
                            cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceSelect",
        [=] {
          N k = 0;
          for (N i = 0; i < n; ++i)
            if (i == 0 || !(in[i] == in[i - 1])) out[k++] = in[i];
          *count = k;
        },
        stream);
    return cudaSuccess;
  }
};

struct DevicePartition {
  template <class In, class Flags, class Out, class Count, class N>
  static cudaError_t Flagged(void* temp, std::size_t& bytes, In in, Flags flags, Out out, Count count, N n,
                             cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DevicePartition",
        [=] {
          N k = 0, last = n;
          for (N i = 0; i < n; ++i) {
            if (flags[i])
              out[k++] = in[i];
            else
              out[--last] = in[i];
          }
          *count = k;
        },
        stream);
    return cudaSuccess;
  }
  template <class In, class Out, class Count, class N, class F>
  static cudaError_t If(void* temp, std::size_t& bytes, In in, Out out, Count count, N n, F f,
                        cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DevicePartition",
        [=] {
          N k = 0, last = n;
          for (N i = 0; i < n; ++i) {
            if (f(in[i]))
              out[k++] = in[i];
            else
              out[--last] = in[i];
          }
          *count = k;
        },
        stream);
    return cudaSuccess;
  }
};

struct DeviceRunLengthEncode {
  template <class In, class Unique, class Counts, class Runs, class N>
  static cudaError_t Encode(void* temp, std::size_t& bytes, In in, Unique unique, Counts counts, Runs runs,
                            N n, cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceRunLengthEncode",
        [=] {
          N k = 0;
          for (N i = 0; i < n;) {
            N j = i;
            while (j < n && in[j] == in[i]) ++j;
            unique[k] = in[i];
            counts[k++] = j - i;
            i = j;
          }
          *runs = k;
        },
        stream);
    return cudaSuccess;
  }
};

struct DeviceHistogram {
  template <class In, class C, class L, class N>
  static cudaError_t HistogramEven(void* temp, std::size_t& bytes, In in, C* bins, int levels, L lower,
                                   L upper, N n, cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceHistogram",
        [=] {
          for (int b = 0; b < levels - 1; ++b) bins[b] = 0;
          for (N i = 0; i < n; ++i) {
            const auto v = in[i];
            if (v < lower || !(v < upper)) continue;
            int b;
            if constexpr (std::is_integral<L>::value)
              b = static_cast<int>(static_cast<unsigned long long>(v - lower) *
                                   static_cast<unsigned long long>(levels - 1) /
                                   static_cast<unsigned long long>(upper - lower));
            else
              b = static_cast<int>((v - lower) * (static_cast<L>(levels - 1) / (upper - lower)));
            bins[b < levels - 1 ? b : levels - 2] += 1;
          }
        },
        stream);
    return cudaSuccess;
  }
  template <class In, class C, class L, class N>
  static cudaError_t HistogramRange(void* temp, std::size_t& bytes, In in, C* bins, int levels, L* edges, N n,
                                    cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceHistogram",
        [=] {
          for (int b = 0; b < levels - 1; ++b) bins[b] = 0;
          for (N i = 0; i < n; ++i)
            for (int b = 0; b < levels - 1; ++b)
              if (in[i] >= edges[b] && in[i] < edges[b + 1]) bins[b] += 1;
        },
        stream);
    return cudaSuccess;
  }
};

struct DeviceSegmentedReduce {
  template <class In, class Out, class Begin, class End, class F, class T>
  static cudaError_t Reduce(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begins,
                            End ends, F f, T init, cudaStream_t stream = 0) {
    if (details::asks(temp, bytes)) return cudaSuccess;
    leap_cuda::on_device(
        "cub::DeviceSegmentedReduce",
        [=] {
          for (int s = 0; s < segments; ++s) {
            T all = init;
            for (auto i = begins[s]; i < ends[s]; ++i) all = f(all, in[i]);
            out[s] = all;
          }
        },
        stream);
    return cudaSuccess;
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Sum(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begins, End ends,
                         cudaStream_t stream = 0) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, cub::Sum(), details::ValueAt<In>(), stream);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Max(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begins, End ends,
                         cudaStream_t stream = 0) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, cub::Max(),
                  std::numeric_limits<details::ValueAt<In>>::lowest(), stream);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Min(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begins, End ends,
                         cudaStream_t stream = 0) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, cub::Min(),
                  std::numeric_limits<details::ValueAt<In>>::max(), stream);
  }
};

namespace details {
template <class K, class V, class Begin, class End, class Less>
inline cudaError_t segmented_sort(void* temp, std::size_t& bytes, const K* in, K* out, const V* values,
                                  V* sorted, std::size_t n, int segments, Begin begins, End ends, Less less,
                                  cudaStream_t stream) {
  if (asks(temp, bytes, 16 + 8 * n)) return cudaSuccess;
  leap_cuda::on_device(
      "cub::DeviceSegmentedSort",
      [=] {
        for (int s = 0; s < segments; ++s)
          sort_span(temp, in, out, values, sorted, static_cast<std::size_t>(begins[s]),
                    static_cast<std::size_t>(ends[s]), less);
      },
      stream);
  return cudaSuccess;
}
}  // namespace details

struct DeviceSegmentedRadixSort {
  template <class K, class V, class N, class Begin, class End>
  static cudaError_t SortPairs(void* temp, std::size_t& bytes, const K* in, K* out, const V* values,
                               V* sorted, N n, int segments, Begin begins, End ends, int begin = 0,
                               int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    return details::segmented_sort(temp, bytes, in, out, values, sorted, static_cast<std::size_t>(n),
                                   segments, begins, ends,
                                   details::RadixLess<K>{leap_cuda::bit_range(begin, end), false}, stream);
  }
  template <class K, class V, class N, class Begin, class End>
  static cudaError_t SortPairsDescending(void* temp, std::size_t& bytes, const K* in, K* out, const V* values,
                                         V* sorted, N n, int segments, Begin begins, End ends, int begin = 0,
                                         int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    return details::segmented_sort(temp, bytes, in, out, values, sorted, static_cast<std::size_t>(n),
                                   segments, begins, ends,
                                   details::RadixLess<K>{leap_cuda::bit_range(begin, end), true}, stream);
  }
  template <class K, class N, class Begin, class End>
  static cudaError_t SortKeys(void* temp, std::size_t& bytes, const K* in, K* out, N n, int segments,
                              Begin begins, End ends, int begin = 0, int end = sizeof(K) * 8,
                              cudaStream_t stream = 0) {
    return details::segmented_sort(temp, bytes, in, out, static_cast<const char*>(nullptr),
                                   static_cast<char*>(nullptr), static_cast<std::size_t>(n), segments, begins,
                                   ends, details::RadixLess<K>{leap_cuda::bit_range(begin, end), false},
                                   stream);
  }
  template <class K, class N, class Begin, class End>
  static cudaError_t SortKeysDescending(void* temp, std::size_t& bytes, const K* in, K* out, N n,
                                        int segments, Begin begins, End ends, int begin = 0,
                                        int end = sizeof(K) * 8, cudaStream_t stream = 0) {
    return details::segmented_sort(temp, bytes, in, out, static_cast<const char*>(nullptr),
                                   static_cast<char*>(nullptr), static_cast<std::size_t>(n), segments, begins,
                                   ends, details::RadixLess<K>{leap_cuda::bit_range(begin, end), true},
                                   stream);
  }
};
struct DeviceSegmentedSort : DeviceSegmentedRadixSort {
  template <class K, class N, class Begin, class End>
  static cudaError_t StableSortKeys(void* temp, std::size_t& bytes, const K* in, K* out, N n, int segments,
                                    Begin begins, End ends, cudaStream_t stream = 0) {
    return SortKeys(temp, bytes, in, out, n, segments, begins, ends, 0, sizeof(K) * 8, stream);
  }
};

struct DeviceFor {
  template <class N, class F>
  static cudaError_t Bulk(N n, F f, cudaStream_t stream = 0) {
    leap_cuda::on_device(
        "cub::DeviceFor",
        [=]() mutable {
          for (N i = 0; i < n; ++i) f(i);
        },
        stream);
    return cudaSuccess;
  }
  template <class It, class N, class F>
  static cudaError_t ForEachN(It from, N n, F f, cudaStream_t stream = 0) {
    leap_cuda::on_device(
        "cub::DeviceFor",
        [=]() mutable {
          for (N i = 0; i < n; ++i) f(from[i]);
        },
        stream);
    return cudaSuccess;
  }
};

}  // namespace cub
