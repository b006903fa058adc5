/// A bounded group of threads for loops. They sleep between loops that come far apart, so a busy machine is
/// not held up.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>

namespace leap::model {

class Workers {
 public:
  /// 0 threads: as many as the machine has.
  explicit Workers(int threads) : arena_(threads > 0 ? threads : tbb::task_arena::automatic) {}

  /// call(i) for i in [0, n), in any order and at once; `grain` is the least number of i a thread takes
  /// together.
  template <class Call>
  void for_each(std::size_t n, const Call& call, std::size_t grain = 1) {
    if (n <= grain) {
      for (std::size_t i = 0; i < n; ++i) call(i);
      return;
    }
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, grain), [&](const auto& range) {
        for (std::size_t i = range.begin(); i != range.end(); ++i) call(i);
      });
    });
  }

  /// `call` with the group's threads at hand: loops inside start sooner.
  template <class Call>
  void run(const Call& call) {
    arena_.execute(call);
  }

 private:
  tbb::task_arena arena_;
};

}  // namespace leap::model
