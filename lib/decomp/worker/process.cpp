#include "process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

extern "C" {
#include "sandbox/confined.h"
}

namespace leap::decomp {
namespace {

constexpr int kControl = 3, kRules = 6;  // the second one where children are confined

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

/// Pages of a process: of its address space, or resident.
long statm_kb(const char* path, bool resident) {
  long total = 0, rss = 0;
  if (FILE* file = std::fopen(path, "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &rss) != 2) total = rss = 0;
    std::fclose(file);
  }
  return (resident ? rss : total) * (sysconf(_SC_PAGESIZE) / 1024);
}

void lower(__rlimit_resource what, rlim_t soft, rlim_t hard) {
  rlimit old{};
  getrlimit(what, &old);
  hard = std::min(hard, old.rlim_max);
  const rlimit limit{std::min(soft, hard), hard};
  setrlimit(what, &limit);
}

/// CPU seconds and resident kB of all processes but ours and `pid`.
void others(pid_t pid, double& cpu_s, long& rss_kb) {
  cpu_s = 0, rss_kb = 0;
  auto add = [&](pid_t other) {
    cpu_s += Processes::cpu_of(other);
    rss_kb += statm_kb(("/proc/" + std::to_string(other) + "/statm").c_str(), true);
  };
  if (leap_confinement.on) {
    pid_t pids[512];
    const int count = leap_tree(pids, 512);
    for (int i = 0; i < count; ++i)
      if (pids[i] != pid) add(pids[i]);
    return;
  }
  DIR* proc = opendir("/proc");
  if (!proc) return;
  while (const dirent* entry = readdir(proc)) {
    const pid_t other = std::atoi(entry->d_name);
    if (other <= 1 || other == pid || other == getpid()) continue;
    add(other);
  }
  closedir(proc);
}

int reopened(int fd, int flags) {
  const int out = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_CLOEXEC);
  if (out < 0) _exit(3);
  return out;
}

bool empty_directory(const std::string& path, int depth) {
  DIR* dir = opendir(path.c_str());
  if (!dir) return false;
  bool fine = true;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(path + "/" + name);
  }
  closedir(dir);
  for (const std::string& name : names) {
    if (unlink(name.c_str()) == 0) continue;
    chmod(name.c_str(), 0700);
    fine = fine && depth < 60 && empty_directory(name, depth + 1) && rmdir(name.c_str()) == 0;
  }
  return fine;
}

}  // namespace

Processes::Processes(bool contained) : contained_(contained) {
  const int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (in < 0 || out < 0 || null < 0) _exit(3);
  // Kept above what programs use; the numbers are below 256 and closed in children.
  input_fd_ = fcntl(in, F_DUPFD_CLOEXEC, 200);
  output_fd_ = fcntl(out, F_DUPFD_CLOEXEC, 200);
  result_fd_ = fcntl(memfd_create("result", MFD_CLOEXEC), F_DUPFD_CLOEXEC, 200);
  dup2(reopened(in, O_RDONLY), 0);
  dup2(reopened(out, O_WRONLY), 1);
  dup2(null, 2);
  for (int fd = 4; fd < 200; ++fd)
    if (!leap_confinement.on || fd != kRules) close(fd);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) _exit(3);
  shared_ = new (page) Shared{};
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  if (!contained_) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool Processes::filter(const std::string& program) {
  base_kb_ = statm_kb("/proc/self/statm", false);
  prctl(PR_SET_DUMPABLE, 0);
  if (leap_confinement.on) filter_ = program;
  if (program.empty() || leap_confinement.on) return true;
  sock_fprog loaded{static_cast<unsigned short>(program.size() / sizeof(sock_filter)),
                    reinterpret_cast<sock_filter*>(const_cast<char*>(program.data()))};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded) == 0;
}

void Processes::set_input(const std::string& input) {
  if (ftruncate(input_fd_, 0) != 0 || lseek(input_fd_, 0, SEEK_SET) != 0 || !write_all(input_fd_, input))
    _exit(3);
  lseek(0, 0, SEEK_SET);
  if (ftruncate(output_fd_, 0) != 0 || ftruncate(result_fd_, 0) != 0) _exit(3);
  lseek(1, 0, SEEK_SET);
  lseek(result_fd_, 0, SEEK_SET);
}

long Processes::output_size() const {
  struct stat s {};
  return fstat(output_fd_, &s) == 0 ? static_cast<long>(s.st_size) : 0;
}

namespace {

std::string content(int fd, std::size_t limit) {
  struct stat s {};
  if (fstat(fd, &s) != 0) return {};
  std::string out(std::min(limit, static_cast<std::size_t>(s.st_size)), '\0');
  std::size_t at = 0;
  while (at < out.size()) {
    const ssize_t n = pread(fd, out.data() + at, out.size() - at, static_cast<off_t>(at));
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  out.resize(at);
  return out;
}

}  // namespace

std::string Processes::output(long limit_kb) const {
  return content(output_fd_, static_cast<std::size_t>(limit_kb) << 10);
}

std::string Processes::result() const {
  return content(result_fd_, 64u << 20);
}

void Processes::enter(const Limits& limits, int keep_fd) {
  if (leap_confinement.on)
    leap_confine_child();
  else
    setsid();
  prctl(PR_SET_DUMPABLE, 1);
  if (keep_fd >= 0) dup2(keep_fd, kControl);
  syscall(SYS_close_range, keep_fd >= 0 ? kControl + 1 : kControl, ~0U, 0);
  const auto cpu = static_cast<rlim_t>(limits.cpu_s) + 2;
  lower(RLIMIT_CPU, cpu, cpu + 1);
  lower(RLIMIT_FSIZE, static_cast<rlim_t>(limits.file_kb) << 10, static_cast<rlim_t>(limits.file_kb) << 10);
  lower(RLIMIT_CORE, 0, 0);
  lower(RLIMIT_MEMLOCK, 64 << 10, 64 << 10);
  lower(RLIMIT_MSGQUEUE, 0, 0);
  lower(RLIMIT_NOFILE, 256, 256);
  lower(RLIMIT_NPROC, static_cast<rlim_t>(limits.processes), static_cast<rlim_t>(limits.processes));
  const auto memory = static_cast<rlim_t>(limits.memory_kb + base_kb_) << 10;
  lower(RLIMIT_AS, memory, memory);
  if (!filter_.empty()) {
    const sock_fprog loaded{static_cast<unsigned short>(filter_.size() / sizeof(sock_filter)),
                            reinterpret_cast<sock_filter*>(filter_.data())};
    if (!leap_load_filter(&loaded, -1)) _exit(126);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void Processes::end(pid_t pid, int& status, rusage& usage) {
  // The group is the whole tree, and the number is nobody else's until its leader is reaped.
  kill(leap_confinement.on ? -pid : pid, SIGKILL);
  wait4(pid, &status, 0, &usage);
}

double Processes::cpu_of(pid_t pid) {
  timespec t{};
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2);
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double Processes::end_all() {
  double cpu_s = 0;
  while (true) {
    rusage usage{};
    const pid_t gone = wait4(-1, nullptr, WNOHANG, &usage);
    if (gone > 0) {
      cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
      continue;
    }
    if (gone < 0) break;  // none is left
    if (contained_) {
      kill(-1, SIGKILL);
    } else if (FILE* file =
                   std::fopen(("/proc/self/task/" + std::to_string(getpid()) + "/children").c_str(), "r")) {
      int child = 0;
      while (std::fscanf(file, "%d", &child) == 1) {
        if (leap_confinement.on) kill(-child, SIGKILL);
        kill(child, SIGKILL);
      }
      std::fclose(file);
    }
    if (wait4(-1, nullptr, 0, &usage) > 0) cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  cpu_s_ += cpu_s;
  return cpu_s;
}

bool Processes::clean() {
  if (leap_confinement.on) return empty_directory(work_dir, 0);
  return !contained_ || (empty_directory("/tmp", 0) && empty_directory("/dev/shm", 0));
}

Ran Processes::run(const Limits& limits, const std::function<void(Shared&, int)>& job) {
  Ran out;
  shared_->flags = 0;
  const double begin = now();
  PyOS_BeforeFork();
  const pid_t pid = fork();
  if (pid == 0) {
    enter(limits, result_fd_);
    PyOS_AfterFork_Child();
    job(*shared_, kControl);
    _exit(126);
  }
  PyOS_AfterFork_Parent();
  if (pid < 0) _exit(3);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  int status = 0;
  rusage usage{};
  bool ended = false, stopped = false;
  long peak_kb = 0;
  double tick_s = 0.002;
  auto has_ended = [&] {
    if (!leap_confinement.on) return wait4(pid, &status, WNOHANG, &usage) == pid;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid)
      return false;
    end(pid, status, usage);
    return true;
  };
  while (!ended) {
    ended = has_ended();
    if (ended) break;
    const double left = std::max(0.0005, std::min({tick_s, begin + limits.wall_s - now(),
                                                   std::max(0.002, (limits.cpu_s - cpu_of(pid)) / 2)}));
    const timespec wait{static_cast<time_t>(left),
                        static_cast<long>((left - static_cast<double>(static_cast<time_t>(left))) * 1e9)};
    if (sigtimedwait(&child, nullptr, &wait) == SIGCHLD) {
      ended = has_ended();
      if (ended) break;
      // Another's end: looked at anew at the next tick.
    }
    tick_s = std::min(0.05, tick_s * 2);
    double more_cpu_s = 0;
    long more_kb = 0;
    if (tick_s > 0.03 && limits.alone) others(pid, more_cpu_s, more_kb);
    const long rss_kb = statm_kb(("/proc/" + std::to_string(pid) + "/statm").c_str(), true) + more_kb;
    peak_kb = std::max(peak_kb, rss_kb);
    stopped = true;
    if (cpu_of(pid) + more_cpu_s > limits.cpu_s)
      out.end = RunEnd::kCpu;
    else if (now() - begin > limits.wall_s)
      out.end = RunEnd::kWall;
    else if (rss_kb > limits.memory_kb + base_kb_)
      out.end = RunEnd::kMemory;
    else if (output_size() > limits.output_kb << 10 ||
             (leap_confinement.on && leap_too_full(work_dir.c_str())))
      out.end = RunEnd::kOutput;
    else
      stopped = false;
    if (stopped) {
      end(pid, status, usage);
      break;
    }
  }
  out.wall_s = now() - begin;
  out.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cpu_s_ += out.cpu_s;
  out.cpu_s += end_all();
  out.rss_kb = std::max(peak_kb, usage.ru_maxrss);
  out.flags = shared_->flags;
  const bool signalled = WIFSIGNALED(status);
  out.code = signalled ? WTERMSIG(status) : WEXITSTATUS(status);
  if (!stopped) out.end = signalled ? RunEnd::kSignal : RunEnd::kExit;
  if (out.end != RunEnd::kOutput && output_size() > limits.output_kb << 10)
    out.end = RunEnd::kOutput;
  else if (!stopped && (out.cpu_s > limits.cpu_s || (signalled && out.code == SIGXCPU)))
    out.end = RunEnd::kCpu;
  return out;
}

pid_t Processes::start(const Limits& limits, const std::function<void(Shared&, int)>& job, int& socket) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) _exit(3);
  PyOS_BeforeFork();
  const pid_t pid = fork();
  if (pid == 0) {
    const int mine = fcntl(ends[1], F_DUPFD_CLOEXEC, 200);
    enter(limits, mine);
    PyOS_AfterFork_Child();
    job(*shared_, kControl);
    _exit(126);
  }
  PyOS_AfterFork_Parent();
  close(ends[1]);
  if (pid < 0) _exit(3);
  socket = fcntl(ends[0], F_DUPFD_CLOEXEC, 200);
  close(ends[0]);
  return pid;
}

}  // namespace leap::decomp
