/// Programs that are made once in a run, whoever asks for them, and kept as long as there is room.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "verify/programs.hpp"

namespace leap::verify {

class ProgramStore {
 public:
  using Shared = std::shared_ptr<const Program>;

  /// At most `room` bytes of programs are kept.
  explicit ProgramStore(std::size_t room) : room_(room) {}

  /// The program of a key. It is made by the first who asks; others wait for it. One that another try may
  /// turn out otherwise is not kept.
  Shared get(const std::string& key, const std::function<Program()>& make);

 private:
  struct Kept {
    std::shared_future<Shared> program;
    std::size_t size = 0;  ///< 0 while it is made
  };
  void settle(const std::string& key, const Shared& made);

  std::size_t room_, used_ = 0;
  std::mutex mutex_;
  std::unordered_map<std::string, Kept> kept_;
  std::deque<std::string> order_;  ///< oldest first
};

}  // namespace leap::verify
