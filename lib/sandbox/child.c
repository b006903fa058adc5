#define _GNU_SOURCE
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "confined.h"

enum { kProgramFd = 5, kAskFd = 6, kSharedFd = 7, kCopies = 64 };

void leap_lay_ground(Ground* ground, const char* work_dir, const char* shared, const char* filter,
                     size_t filter_size, unsigned own_pid) {
  snprintf(ground->work_dir, sizeof ground->work_dir, "%s", work_dir);
  snprintf(ground->shared, sizeof ground->shared, "%s", shared);
  ground->shared_count = shared[0] != 0;
  for (const char* at = shared; *at; ++at) ground->shared_count += *at == '|';
  ground->filter.len = (unsigned short)(filter_size / sizeof(struct sock_filter));
  ground->filter.filter = malloc(filter_size + 1);
  if (!ground->filter.filter) leap_leave();
  memcpy(ground->filter.filter, filter, filter_size);
  for (unsigned short i = 0; i < ground->filter.len; ++i) {
    const struct sock_filter* one = &ground->filter.filter[i];
    if (one->k != own_pid || BPF_CLASS(one->code) != BPF_JMP) continue;
    if (ground->own_pids == sizeof ground->own_pid / sizeof *ground->own_pid) leap_leave();
    ground->own_pid[ground->own_pids++] = i;
  }
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    struct rlimit limit;
    ground->hard[i] = getrlimit((__rlimit_resource_t)i, &limit) == 0 ? limit.rlim_max : RLIM_INFINITY;
  }
}

static void lower(const Ground* ground, int what, rlim_t soft, rlim_t hard) {
  const rlim_t top = ground->hard[what];
  if (hard > top) hard = top; /* RLIM_INFINITY is the largest */
  if (soft > hard) soft = hard;
  const struct rlimit limit = {soft, hard};
  setrlimit((__rlimit_resource_t)what, &limit);
}

static void close_range_of(unsigned first, unsigned last) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
  for (unsigned fd = first; fd <= last && fd < 4096; ++fd) close((int)fd);
}

/* Files 0 to 4 are those of the launch, 5 the program, 6 where it asks, from 7 on what is shared. */
static void take_files(const Ground* ground, const Launch* launch) {
  const int wanted[kSharedFd] = {launch->files[0], launch->files[1], launch->files[2], launch->files[3],
                                 launch->files[4], launch->program,  launch->ask};
  int copies[kSharedFd];
  for (int i = 0; i < kSharedFd; ++i)
    copies[i] = wanted[i] < 0 ? -1 : fcntl(wanted[i], F_DUPFD_CLOEXEC, kCopies);
  for (int i = 0; i < kSharedFd; ++i) {
    if (copies[i] < 0)
      close(i);
    else
      dup3(copies[i], i, i < kProgramFd ? 0 : O_CLOEXEC);
  }
  const int shared = launch->shared ? ground->shared_count : 0;
  for (int i = 0; i < shared; ++i) fcntl(kSharedFd + i, F_SETFD, 0);
  close_range_of((unsigned)(kSharedFd + shared), ~0U);
}

void leap_enter(const Ground* ground, const Limits* limits, const Launch* launch) {
  if (leap_confinement.on)
    leap_confine_child();
  else
    setpgid(0, 0); /* a session of its own would cost a group of the scheduler */
  take_files(ground, launch);
  const rlim_t cpu_s = (rlim_t)limits->cpu_s;
  lower(ground, RLIMIT_CPU, cpu_s + 2, cpu_s + 3);
  lower(ground, RLIMIT_STACK, RLIM_INFINITY, RLIM_INFINITY);
  lower(ground, RLIMIT_FSIZE, (rlim_t)limits->file_kb << 10, (rlim_t)limits->file_kb << 10);
  lower(ground, RLIMIT_CORE, 0, 0);
  lower(ground, RLIMIT_MEMLOCK, 64 << 10, 64 << 10);
  lower(ground, RLIMIT_MSGQUEUE, 0, 0);
  lower(ground, RLIMIT_NOFILE, 256, 256);
  const rlim_t tasks = (rlim_t)(limits->processes + leap_confinement.other_tasks);
  lower(ground, RLIMIT_NPROC, tasks, tasks);
  if (!limits->reserves)
    lower(ground, RLIMIT_AS, (rlim_t)limits->memory_kb << 10, (rlim_t)limits->memory_kb << 10);
  if (!ground->filter.len) return;
  for (int i = 0; i < ground->own_pids; ++i) ground->filter.filter[ground->own_pid[i]].k = (unsigned)getpid();
  if (!leap_load_filter(&ground->filter, kAskFd)) _exit(126);
  close(kAskFd);
}

/* In the child of a vfork. */
static __attribute__((noinline)) pid_t fork_program(const Ground* ground, const Limits* limits,
                                                    const Launch* launch, char* const* argv,
                                                    char* const* environment) {
  const pid_t pid = vfork();
  if (pid != 0) return pid;
  leap_enter(ground, limits, launch);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  if (launch->program >= 0)
    syscall(SYS_execveat, kProgramFd, "", argv, environment, AT_EMPTY_PATH);
  else
    execve(argv[0], argv, environment);
  _exit(126);
}

pid_t leap_start_program(const Ground* ground, const Limits* limits, const Launch* launch, View words) {
  static Bytes text, list;
  text.size = list.size = 0;
  leap_append(&text, words.data, words.size);
  leap_append(&text, "", 1);
  for (size_t at = 0; at < text.size; at += strlen(text.data + at) + 1) {
    const char* word = text.data + at;
    leap_append(&list, &word, sizeof word);
  }
  const char* end = NULL;
  leap_append(&list, &end, sizeof end);
  char home[600], temporary[600];
  snprintf(home, sizeof home, "HOME=%s", ground->work_dir);
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", ground->work_dir);
  char* const environment[] = {"LANG=C.UTF-8", "PATH=/usr/bin:/bin", home, temporary, NULL};
  return fork_program(ground, limits, launch, (char* const*)list.data, environment);
}

static void make_directories(const Ground* ground, char* path) {
  for (char* slash = strchr(path + strlen(ground->work_dir) + 1, '/'); slash;
       slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
  }
}

void leap_place_shared(const Ground* ground) {
  const char* name = ground->shared;
  for (int i = 0; i < ground->shared_count; ++i) {
    const int size = (int)strcspn(name, "|");
    char path[1700], target[64];
    snprintf(path, sizeof path, "%s/%.*s", ground->work_dir, size, name);
    make_directories(ground, path);
    snprintf(target, sizeof target, "/proc/self/fd/%d", kSharedFd + i);
    if (symlink(target, path) != 0) leap_leave();
    name += size + (name[size] == '|');
  }
}

void leap_place_files(const Ground* ground, const Frame* frame, size_t first) {
  for (size_t i = first; i + 1 < frame->count; i += 2) {
    char name[512], path[1100];
    snprintf(path, sizeof path, "%s/%s", ground->work_dir, leap_text(frame->fields[i], name, sizeof name));
    make_directories(ground, path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    View rest = frame->fields[i + 1];
    while (fd >= 0 && rest.size) {
      const ssize_t n = write(fd, rest.data, rest.size);
      if (n <= 0) leap_leave();
      rest = (View){rest.data + n, rest.size - (size_t)n};
    }
    if (fd < 0) leap_leave();
    close(fd);
  }
}
