#include "sandbox/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "sandbox/fd.hpp"

namespace leap::sandbox {
namespace {

/// A thread on which processes are started: a process started with "die with parent" dies with this thread,
/// that is, with the program, and not with whichever worker thread asked for it.
class Starter {
 public:
  Starter() : thread_([this] { work(); }) {}
  ~Starter() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  pid_t run(std::function<pid_t()> job) {
    std::packaged_task<pid_t()> task(std::move(job));
    auto result = task.get_future();
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
    return result.get();
  }

 private:
  void work() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return done_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.erase(tasks_.begin());
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::packaged_task<pid_t()>> tasks_;
  bool done_ = false;
  std::thread thread_;
};

Starter& starter() {
  static Starter it;
  return it;
}

pid_t spawn_here(const std::vector<std::string>& argv, const std::vector<int>& fds, int stderr_fd,
                 const char* preload) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  // Copies above every target number, so that one dup2 does not overwrite another's source.
  std::vector<Fd> copies;
  auto put = [&](int fd, int target) {
    copies.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 100));
    posix_spawn_file_actions_adddup2(&actions, copies.back().get(), target);
  };
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  put(stderr_fd, 2);
  for (std::size_t i = 0; i < fds.size(); ++i) put(fds[i], 3 + static_cast<int>(i));
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
  posix_spawn_file_actions_addclosefrom_np(&actions, 3 + static_cast<int>(fds.size()));
#endif
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  // Fixed hashing: a program gives the same output in every run. One arena: threads do not reserve 64 MB
  // each.
  const char* environment[] = {"PATH=/usr/bin:/bin",
                               "LANG=C.UTF-8",
                               "PYTHONHASHSEED=0",
                               "HOME=/tmp",
                               "MALLOC_ARENA_MAX=1",
                               "PYTHONDONTWRITEBYTECODE=1",
                               "TMPDIR=/tmp",
                               "OPENBLAS_NUM_THREADS=1",
                               "LD_BIND_NOW=1",
                               preload,
                               nullptr};
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(),
                                  const_cast<char**>(environment));
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed) {
    errno = failed;
    throw_errno(argv[0]);
  }
  return pid;
}

}  // namespace

pid_t spawn(const std::vector<std::string>& argv, const std::vector<int>& fds, int stderr_fd,
            const char* preload) {
  return starter().run([&] { return spawn_here(argv, fds, stderr_fd, preload); });
}

std::string on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return folder + "/" + program;
  return "";
}

}  // namespace leap::sandbox
