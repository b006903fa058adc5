/// Loops whose turns run beside each other, and what ThreadSanitizer has to be told of them.
#pragma once

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#define LEAP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEAP_TSAN 1
#endif
#endif

#ifdef LEAP_TSAN
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace leap {

/// A hand-over between threads by a library that is not built with ThreadSanitizer: what is done before
/// `give` has been done after the `take` of the same address.
inline void give([[maybe_unused]] const void* address) {
#ifdef LEAP_TSAN
  __tsan_release(const_cast<void*>(address));
#endif
}

inline void take([[maybe_unused]] const void* address) {
#ifdef LEAP_TSAN
  __tsan_acquire(const_cast<void*>(address));
#endif
}

/// turn(0) to turn(count - 1), in any order. While it waits for one of them a thread does not start on
/// anything else, such as another record.
template <class Turn>
void for_each_index(std::size_t count, const Turn& turn) {
  static const char begun = 0, done = 0;
  const auto told = [&turn](std::size_t i) {
    take(&begun);
    turn(i);
    give(&done);
  };
  give(&begun);
  if (count == 1)
    told(0);
  else
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, count, told); });
  take(&done);
}

}  // namespace leap
