/* The run time of a shared C++ program (cpp_parts.hpp), linked into it.
 *
 * As a server it is the first process of a sandbox: it is stopped before any of the program's own code has
 * run, and each run is a fork of it that goes on from there. A fork costs a tenth of an exec with the dynamic
 * linker's work. Between runs it ends all that is left and empties the directories that can be written. It
 * takes nothing from the heap, has a stack of its own and calls only what a program cannot define, so that a
 * run finds what it would find after exec.
 *
 * Started otherwise, it is one run: argv[0] holds the choices, and a file tells the calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "protocol.h"

unsigned short leaprt_choice[kLeapFunctions];
unsigned char* volatile leaprt_page;

enum { kControl = 3, kFilter = 4, kMostFilter = 2048, kStack = 128 << 10, kMostErrors = 64 << 10 };

static struct {
  int in, out, err;
  long page_kb;
  struct sock_filter filter[kMostFilter];
  char buffer[1 << 16];
  ucontext_t program, server;
  LeapRun run;
  LeapRan ran;
} self;

static void leave(int status) {
  syscall(SYS_exit_group, status);
}

static double now_s(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU seconds of a process so far; 0 when it is none. */
static double cpu_of(long pid) {
  struct timespec t;
  const long clock = (int)(~(unsigned)pid << 3 | 2);
  if (syscall(SYS_clock_gettime, clock, &t) != 0) return 0;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(const struct timeval* t) {
  return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

static int open_file(const char* path, int flags) {
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static void close_file(int fd) {
  syscall(SYS_close, fd);
}

/* Resident kB of a process. */
static long resident_kb(long pid) {
  char path[64] = "/proc/", digits[24];
  size_t at = 6, count = 0;
  for (; pid > 0; pid /= 10) digits[count++] = (char)('0' + pid % 10);
  while (count > 0) path[at++] = digits[--count];
  memcpy(path + at, "/statm", 7);
  const int fd = open_file(path, O_RDONLY);
  if (fd < 0) return 0;
  char line[128];
  const long size = syscall(SYS_read, fd, line, sizeof line);
  close_file(fd);
  long i = 0, pages = 0;
  while (i < size && line[i] != ' ') ++i;
  for (++i; i < size && line[i] >= '0' && line[i] <= '9'; ++i) pages = 10 * pages + (line[i] - '0');
  return pages * self.page_kb;
}

static bool transfer(bool out, void* data, size_t size) {
  for (char* at = data; size > 0;) {
    const long n = out ? syscall(SYS_sendto, kControl, at, size, MSG_NOSIGNAL, NULL, 0)
                       : syscall(SYS_read, kControl, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

/* The next run's input goes from the socket into the file. */
static bool take_input(uint64_t size) {
  syscall(SYS_ftruncate, self.in, 0L);
  for (uint64_t done = 0; done < size;) {
    const size_t part = size - done < sizeof self.buffer ? (size_t)(size - done) : sizeof self.buffer;
    if (!transfer(false, self.buffer, part)) return false;
    if (syscall(SYS_pwrite64, self.in, self.buffer, part, done) != (long)part) return false;
    done += part;
  }
  return true;
}

static bool give_file(int fd, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    const size_t part = size - done < sizeof self.buffer ? (size_t)(size - done) : sizeof self.buffer;
    const long n = syscall(SYS_pread64, fd, self.buffer, part, done);
    if (n <= 0 || !transfer(true, self.buffer, (size_t)n)) return false;
    done += (uint64_t)n;
  }
  return true;
}

static uint64_t size_of(int fd) {
  const long end = syscall(SYS_lseek, fd, 0L, SEEK_END);
  return end > 0 ? (uint64_t)end : 0;
}

static void limit(int what, uint64_t soft, uint64_t hard) {
  struct rlimit old;
  if (syscall(SYS_prlimit64, 0, what, NULL, &old) != 0) return;
  if (hard > old.rlim_max) hard = old.rlim_max;
  const struct rlimit new = {soft < hard ? soft : hard, hard};
  syscall(SYS_prlimit64, 0, what, &new, NULL);
}

/* In the child; its signal mask comes with its context. */
static void enter(const LeapRun* run) {
  syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
  syscall(SYS_close_range, kControl, ~0U, 0);
  limit(RLIMIT_CPU, (uint64_t)run->cpu_s + 2, (uint64_t)run->cpu_s + 3);
  limit(RLIMIT_FSIZE, (uint64_t)run->file_kb << 10, (uint64_t)run->file_kb << 10);
  limit(RLIMIT_NPROC, (uint64_t)run->processes, (uint64_t)run->processes);
  const uint64_t memory = (uint64_t)run->memory_kb << 10;
  limit(RLIMIT_AS, memory, memory);
  memcpy(leaprt_choice, run->choice, sizeof leaprt_choice);
  leaprt_page[0] = kLeapMagic;
}

/* Removes what lies in a directory; false where something resists. */
static bool empty_directory(const char* path) {
  const int fd = open_file(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return false;
  bool fine = true;
  for (long size; (size = syscall(SYS_getdents64, fd, self.buffer, sizeof self.buffer)) > 0;) {
    for (long at = 0; at < size;) {
      unsigned short length;
      memcpy(&length, self.buffer + at + 16, sizeof length);
      const char* name = self.buffer + at + 19;
      if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && syscall(SYS_unlinkat, fd, name, 0) != 0 &&
          syscall(SYS_unlinkat, fd, name, AT_REMOVEDIR) != 0)
        fine = false;
      at += length;
    }
  }
  close_file(fd);
  return fine;
}

/* Waits for the end of a run, or ends it. */
static void attend(long pid, double begin) {
  const LeapRun* run = &self.run;
  LeapRan* ran = &self.ran;
  const uint64_t child = 1ULL << (SIGCHLD - 1);
  struct rusage usage;
  int status = 0, why = -1;
  double tick_s = 0.002;
  while (syscall(SYS_wait4, pid, &status, WNOHANG, &usage) != pid) {
    double left = (run->cpu_s - cpu_of(pid)) / 2;
    if (left < 0.002) left = 0.002;
    if (left > tick_s) left = tick_s;
    if (left > begin + run->wall_s - now_s()) left = begin + run->wall_s - now_s();
    if (left < 0.0005) left = 0.0005;
    const struct timespec wait = {0, (long)(left * 1e9)};
    if (syscall(SYS_rt_sigtimedwait, &child, NULL, &wait, 8L) == SIGCHLD) continue;
    if (tick_s < 0.04) tick_s *= 2;
    const long rss_kb = resident_kb(pid);
    if (rss_kb > ran->rss_kb) ran->rss_kb = rss_kb;
    if (cpu_of(pid) > run->cpu_s)
      why = kLeapCpu;
    else if (now_s() - begin > run->wall_s)
      why = kLeapWall;
    else if (rss_kb > run->memory_kb)
      why = kLeapMemory;
    else if (size_of(self.out) > (uint64_t)run->output_kb << 10)
      why = kLeapOutput;
    if (why < 0) continue;
    syscall(SYS_kill, pid, SIGKILL);
    syscall(SYS_wait4, pid, &status, 0, &usage);
    break;
  }
  ran->wall_s = now_s() - begin;
  ran->cpu_s = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
  if (usage.ru_maxrss > ran->rss_kb) ran->rss_kb = usage.ru_maxrss;
  ran->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  const uint64_t out = size_of(self.out);
  if (out > (uint64_t)run->output_kb << 10)
    why = kLeapOutput;
  else if (why < 0 && (ran->cpu_s > run->cpu_s || (WIFSIGNALED(status) && ran->code == SIGXCPU)))
    why = kLeapCpu;
  else if (why < 0)
    why = WIFSIGNALED(status) ? kLeapSignal : kLeapExit;
  ran->end = why;
  if (why == kLeapExit) ran->out_size = out;
  if (why == kLeapSignal && ran->code == SIGABRT) {
    ran->err_size = size_of(self.err);
    if (ran->err_size > kMostErrors) ran->err_size = kMostErrors;
  }
  // Nothing is left of it: signals do not reach us.
  while (syscall(SYS_kill, -1, SIGKILL) == 0 || errno != ESRCH) {
    if (syscall(SYS_wait4, -1, NULL, 0, NULL) <= 0) break;
    ran->others = 1;
  }
}

static void serve(void) {
  const uint64_t child = 1ULL << (SIGCHLD - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &child, NULL, 8L);
  char hello = kLeapMagic;
  if (!transfer(true, &hello, 1)) leave(0);
  while (transfer(false, &self.run, sizeof self.run)) {
    if (!take_input(self.run.input_size)) break;
    syscall(SYS_ftruncate, self.out, 0L);
    syscall(SYS_ftruncate, self.err, 0L);
    for (int fd = 0; fd < 3; ++fd) syscall(SYS_lseek, fd, 0L, SEEK_SET);
    memset(leaprt_page, 0, 1 + kLeapFunctions);
    memset(&self.ran, 0, sizeof self.ran);
    const double begin = now_s();
    const long pid = fork();
    if (pid < 0) break;
    if (pid == 0) {
      enter(&self.run);
      setcontext(&self.program);
    }
    attend(pid, begin);
    memcpy(self.ran.calls, leaprt_page, sizeof self.ran.calls);
    if (!transfer(true, &self.ran, sizeof self.ran) || !give_file(self.out, self.ran.out_size) ||
        !give_file(self.err, self.ran.err_size))
      break;
    if (!empty_directory("/tmp") || !empty_directory("/dev/shm")) break;
  }
  leave(0);
}

/* A file in memory: a descriptor of ours, and `number` for programs, which can only read or write it. */
static int make_file(int number, int flags) {
  const int fd = (int)syscall(SYS_memfd_create, "file", MFD_CLOEXEC);
  const int own = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 200);
  char path[] = "/proc/self/fd/nnn";
  path[14] = (char)('0' + own / 100), path[15] = (char)('0' + own / 10 % 10),
  path[16] = (char)('0' + own % 10);
  const int theirs = open_file(path, flags);
  if (fd < 0 || own < 0 || theirs < 0 || syscall(SYS_dup3, theirs, number, 0) < 0) leave(3);
  close_file(fd);
  close_file(theirs);
  return own;
}

static void start_server(char** argv) {
  // Programs have a stack without end, whose place in memory is set by exec.
  limit(RLIMIT_STACK, RLIM_INFINITY, RLIM_INFINITY);
  if (!argv[2]) {
    char* const again[] = {argv[0], (char*)LEAP_SERVE, (char*)"again", NULL};
    char* const environment[] = {(char*)"LANG=C.UTF-8", (char*)"PATH=/usr/bin:/bin", (char*)"HOME=/tmp",
                                 (char*)"TMPDIR=/tmp",  (char*)"LD_BIND_NOW=1",      NULL};
    syscall(SYS_execve, "/proc/self/exe", again, environment);
    leave(3);
  }
  const long size = syscall(SYS_read, kFilter, self.filter, sizeof self.filter);
  close_file(kFilter);
  self.in = make_file(0, O_RDONLY);
  self.out = make_file(1, O_WRONLY);
  self.err = make_file(2, O_WRONLY);
  self.page_kb = sysconf(_SC_PAGESIZE) / 1024;
  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_MEMLOCK, 64 << 10, 64 << 10);
  limit(RLIMIT_MSGQUEUE, 0, 0);
  limit(RLIMIT_NOFILE, 256, 256);
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* stack = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || stack == MAP_FAILED) leave(3);
  leaprt_page = page;
  syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  const struct sock_fprog filter = {(unsigned short)(size / (long)sizeof *self.filter), self.filter};
  if (size <= 0 || syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
    leave(3);
  if (getcontext(&self.server) != 0) leave(3);
  self.server.uc_stack.ss_sp = stack;
  self.server.uc_stack.ss_size = kStack;
  makecontext(&self.server, serve, 0);
  swapcontext(&self.program, &self.server);
}

/* One run: the choices stand in argv[0], behind the program's name. */
static void start_run(char* at) {
  while (*at && *at != ' ') ++at;
  for (int l = 0; *at && l < kLeapFunctions; ++l) {
    *at++ = 0;
    for (; *at && *at != ' '; *at++ = 0)
      leaprt_choice[l] = (unsigned short)(10 * leaprt_choice[l] + (*at - '0'));
  }
  const int fd = open_file("leaprt_calls", O_RDWR | O_CREAT);
  if (fd < 0 || syscall(SYS_ftruncate, fd, 128L) != 0) leave(97);
  void* page = mmap(NULL, 128, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) leave(97);
  close_file(fd);
  leaprt_page = page;
  leaprt_page[0] = kLeapMagic;
}

__attribute__((constructor(101))) static void leaprt_start(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], LEAP_SERVE) == 0)
    start_server(argv);
  else
    start_run(argv[0]);
}
