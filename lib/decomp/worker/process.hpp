/// Children of the worker: one at a time, under limits, and nothing of them stays.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <string>

#include "frames.hpp"
#include "program.hpp"

namespace leap::decomp {

struct Ran {
  RunEnd end = RunEnd::kExit;
  int code = 0;
  double cpu_s = 0, wall_s = 0;
  long rss_kb = 0;
  std::uint8_t flags = 0;
};

class Processes {
 public:
  /// `contained`: the first process of a pid namespace. Makes fds 0, 1 and 2, so it comes before Python.
  /// Where this process has confined itself (sandbox/confined.h), children are confined too.
  explicit Processes(bool contained);
  /// The children's system call filter, from now on for the worker too; an empty one is none.
  bool filter(const std::string& program);

  /// What the next child reads. Its stdout becomes empty.
  void set_input(const std::string& input);
  std::string output(long limit_kb) const;
  long output_size() const;
  std::string result() const;

  /// Forks; in the child, fds and limits are set, and `job` is called and must not return. Waits for the end
  /// and ends what it left behind. `result_fd` is open in the child alone.
  Ran run(const Limits& limits, const std::function<void(Shared&, int result_fd)>& job);

  /// Forks a child that lives on, with a socket to it.
  pid_t start(const Limits& limits, const std::function<void(Shared&, int socket)>& job, int& socket);
  std::uint32_t beat() const { return shared_->beat; }
  /// CPU seconds of a child so far.
  static double cpu_of(pid_t pid);
  /// Ends all children; the CPU seconds that they used.
  double end_all();
  /// Empties the directories that programs can write to; false when something resists.
  bool clean();

  /// CPU seconds of all children so far.
  double cpu_s() const { return cpu_s_; }

 private:
  void enter(const Limits& limits, int keep_fd);
  /// Ends a child that may have ended, and reaps it.
  void end(pid_t pid, int& status, rusage& usage);

  bool contained_;
  int input_fd_ = -1, output_fd_ = -1, result_fd_ = -1;
  long base_kb_ = 0;
  double cpu_s_ = 0;
  Shared* shared_ = nullptr;
  std::string filter_;  ///< that children load themselves
};

}  // namespace leap::decomp
