// libcu++: <cuda/atomic>, <cuda/barrier>, <cuda/pipeline>, <cuda/std/..>.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <functional>
#include <optional>
#include <tuple>

#include "leap_cuda.h"

namespace cuda {

namespace std {
using namespace ::std;
}  // namespace std

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) {
  leap_cuda::fence(1);
}

template <class T, thread_scope = thread_scope_system>
class atomic_ref {
 public:
  explicit atomic_ref(T& at) : at_(&at) {}
  T load(memory_order = memory_order_seq_cst) const {
    const T value = leap_cuda::atomic_change(
        at_, [](T o) { return o; }, 0);
    leap_cuda::tried_in_vain();
    leap_cuda::fence(1);
    return value;
  }
  operator T() const { return load(); }
  void store(T value, memory_order = memory_order_seq_cst) const { exchange(value); }
  T operator=(T value) const {
    store(value);
    return value;
  }
  T exchange(T value, memory_order = memory_order_seq_cst) const {
    leap_cuda::fence(1);
    return leap_cuda::atomic_change(
        at_, [value](T) { return value; }, 0);
  }
  bool compare_exchange_strong(T& expected, T value, memory_order = memory_order_seq_cst,
                               memory_order = memory_order_seq_cst) const {
    leap_cuda::fence(1);
    const T seen = leap_cuda::atomic_compare(at_, expected, value, 0);
    const bool done = leap_cuda::same_bits(seen, expected);
    expected = seen;
    return done;
  }
  bool compare_exchange_weak(T& expected, T value, memory_order a = memory_order_seq_cst,
                             memory_order b = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, value, a, b);
  }
#define LEAP_FETCH(NAME, EXPRESSION)                       \
  T NAME(T v, memory_order = memory_order_seq_cst) const { \
    leap_cuda::fence(1);                                   \
    return leap_cuda::atomic_change(                       \
        at_, [v](T o) -> T { return EXPRESSION; }, 0);     \
  }
  LEAP_FETCH(fetch_add, o + v)
  LEAP_FETCH(fetch_sub, o - v)
  LEAP_FETCH(fetch_and, o& v)
  LEAP_FETCH(fetch_or, o | v)
  LEAP_FETCH(fetch_xor, o ^ v)
  LEAP_FETCH(fetch_min, v < o ? v : o)
  LEAP_FETCH(fetch_max, v > o ? v : o)
#undef LEAP_FETCH
  T operator++() const {
    return fetch_add(1) + 1;
  }
  T operator++(int) const {
    return fetch_add(1);
  }
  T operator--() const {
    return fetch_sub(1) - 1;
  }
  T operator+=(T v) const {
    return fetch_add(v) + v;
  }
  T operator-=(T v) const {
    return fetch_sub(v) - v;
  }
  void wait(T old, memory_order = memory_order_seq_cst) const {
    while (leap_cuda::same_bits(load(), old)) leap_cuda::yield();
  }
  void notify_one() const {}
  void notify_all() const {}

 private:
  T* at_;
};

template <class T, thread_scope S = thread_scope_system>
class atomic {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
#define LEAP_FORWARD(NAME)                     \
  template <class... A>                        \
  auto NAME(A&&... a) {                        \
    return ref().NAME(static_cast<A&&>(a)...); \
  }
  LEAP_FORWARD(load)
  LEAP_FORWARD(store)
  LEAP_FORWARD(exchange)
  LEAP_FORWARD(compare_exchange_strong)
  LEAP_FORWARD(compare_exchange_weak)
  LEAP_FORWARD(fetch_add)
  LEAP_FORWARD(fetch_sub)
  LEAP_FORWARD(fetch_and)
  LEAP_FORWARD(fetch_or)
  LEAP_FORWARD(fetch_xor)
  LEAP_FORWARD(fetch_min)
  LEAP_FORWARD(fetch_max)
  LEAP_FORWARD(wait)
#undef LEAP_FORWARD
  operator T() {
    return ref().load();
  }
  T operator=(T value) {
    ref().store(value);
    return value;
  }
  T operator++() {
    return ++ref();
  }
  T operator++(int) {
    return ref()++;
  }
  T operator--() {
    return --ref();
  }
  T operator+=(T v) {
    return ref() += v;
  }
  T operator-=(T v) {
    return ref() -= v;
  }
  void notify_one() {}
  void notify_all() {}

 private:
  atomic_ref<T, S> ref() {
    return atomic_ref<T, S>(value_);
  }
  T value_;
};

/// Phases: a wait ends when all that are expected have arrived.
template <thread_scope S = thread_scope_system, class Completion = void>
class barrier {
 public:
  using arrival_token = unsigned;
  barrier() = default;
  explicit barrier(::std::ptrdiff_t expected) { set(expected); }
  LEAP_UNCHECKED void set(::std::ptrdiff_t expected) {
    expected_ = left_ = static_cast<unsigned>(expected);
    phase_ = 0;
  }
  arrival_token arrive(::std::ptrdiff_t n = 1, LEAP_LINE) {
    leap_cuda::fence(0);
    const unsigned phase = read(&phase_);
    for (; n > 0; --n)
      if (leap_cuda::atomic_change(
              &left_, [](unsigned o) { return o - 1; }, leap_line) == 1) {
        leap_cuda::atomic_change(
            &left_, [this](unsigned) { return expected_; }, leap_line);
        leap_cuda::atomic_change(
            &phase_, [](unsigned o) { return o + 1; }, leap_line);
      }
    return phase;
  }
  void wait(arrival_token token, LEAP_LINE) const {
    while (read(&phase_) == token) leap_cuda::yield();
    leap_cuda::fence(0);
    (void)leap_line;
  }
  void arrive_and_wait(LEAP_LINE) {
    if (S == thread_scope_block && read(&expected_) == blockDim.x * blockDim.y * blockDim.z)
      leap_cuda::barrier(leap_line);
    else
      wait(arrive(1, leap_line), leap_line);
  }
  void arrive_and_drop(LEAP_LINE) {
    leap_cuda::atomic_change(
        &expected_, [](unsigned o) { return o - 1; }, leap_line);
    arrive(1, leap_line);
  }

 private:
  LEAP_UNCHECKED __attribute__((noinline)) static unsigned read(const unsigned* at) {
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
  }
  unsigned expected_, left_, phase_;
};
template <thread_scope S>
inline void init(barrier<S>* at, ::std::ptrdiff_t expected) {
  at->set(expected);
}

template <::std::size_t N>
struct aligned_size_t {
  static constexpr ::std::size_t align = N;
  ::std::size_t value;
  explicit constexpr aligned_size_t(::std::size_t n) : value(n) {}
  constexpr operator ::std::size_t() const { return value; }
};

template <thread_scope S, unsigned char Stages>
struct pipeline_shared_state {};
enum class pipeline_role { producer, consumer };

/// Copies are made when they are asked for; what is left of a pipeline are the places where threads wait for
/// each other.
template <thread_scope S>
class pipeline {
 public:
  void producer_acquire() {}
  void producer_commit() {}
  void consumer_wait(LEAP_LINE) { meet(leap_line); }
  void consumer_release(LEAP_LINE) { meet(leap_line); }
  template <class R, class P>
  bool consumer_wait_for(const ::std::chrono::duration<R, P>&, LEAP_LINE) {
    meet(leap_line);
    return true;
  }
  void quit() {}

 private:
  static void meet(int line) {
    if (S != thread_scope_thread) leap_cuda::barrier(line);
  }
};
inline pipeline<thread_scope_thread> make_pipeline() {
  return {};
}
template <class Group, thread_scope S, unsigned char Stages>
inline pipeline<S> make_pipeline(const Group&, pipeline_shared_state<S, Stages>*) {
  return {};
}
template <unsigned char Prior>
inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {}

template <class Group, class Sync>
inline void memcpy_async(const Group& group, void* to, const void* from, ::std::size_t bytes, Sync&) {
  cooperative_groups::memcpy_async(group, static_cast<char*>(to), static_cast<const char*>(from), bytes);
}
template <class Sync>
inline void memcpy_async(void* to, const void* from, ::std::size_t bytes, Sync&) {
  leap_cuda::copy_async(to, from, bytes, bytes);
}
template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace cuda
