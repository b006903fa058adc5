#define _GNU_SOURCE
#include "confined.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRulesFd = 6, kRestrictSelf = 446, kMostProcesses = 1024, kMostFiles = 20000, kMostLevels = 200 };
enum { kSpareTasks = 512 }; /* of our user beside those that it had when we began */

Confinement leap_confinement;

/* Tasks of a process. */
static long tasks_of(pid_t pid) {
  char path[64];
  struct stat s;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  return stat(path, &s) == 0 ? (long)s.st_nlink - 2 : 0;
}

static long tasks_of_user(void) {
  long count = 0;
  DIR* directory = opendir("/proc");
  for (struct dirent* entry; directory && (entry = readdir(directory));) {
    const pid_t pid = atoi(entry->d_name);
    struct stat s;
    if (pid > 0 && fstatat(dirfd(directory), entry->d_name, &s, 0) == 0 && s.st_uid == getuid())
      count += tasks_of(pid);
  }
  if (directory) closedir(directory);
  return count;
}

/* Is a process that goes beyond RLIMIT_NPROC refused? */
static bool limit_holds(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    const struct rlimit limit = {1, 1};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(1);
    const pid_t more = fork();
    if (more == 0) _exit(0);
    _exit(more < 0 && errno == EAGAIN ? 0 : 1);
  }
  int status = 1;
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool asking_works(void) {
  const uint32_t action = SECCOMP_RET_USER_NOTIF;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

__attribute__((visibility("default"))) const char* leap_confine(const char* work_dir, unsigned user,
                                                                bool own_user, const char* filter,
                                                                size_t filter_size, long most_kb, int rules) {
  Confinement* it = &leap_confinement;
  it->on = true;
  it->asks = !own_user;
  it->most_kb = most_kb;
  it->supervisor = getpid();
  if (user) {
    const uid_t id = own_user ? user + (uid_t)getpid() : user;
    if (chown(work_dir, id, id) != 0) return "cannot give its directory to a user of its own";
    if (setgroups(0, NULL) != 0 || setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0)
      return "cannot become a user of its own";
  }
  if (geteuid() == 0) return "programs would run as root";
  if (own_user ? !limit_holds() : !asking_works()) return "the number of processes cannot be limited";
  if (!own_user) it->other_tasks = tasks_of_user() + kSpareTasks;
  struct sock_fprog program = {(unsigned short)(filter_size / sizeof(struct sock_filter)),
                               (struct sock_filter*)filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(kRestrictSelf, rules, 0) != 0)
    return "landlock_restrict_self is refused";
  close(rules);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return "seccomp is refused";
  return NULL;
}

void leap_confine_child(void) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != leap_confinement.supervisor ||
      syscall(kRestrictSelf, kRulesFd, 0) != 0)
    _exit(126);
}

/* Room for one descriptor beside one byte. */
typedef union {
  char bytes[CMSG_SPACE(sizeof(int))];
  struct cmsghdr align;
} Ancillary;

bool leap_load_filter(const struct sock_fprog* filter, int channel) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (!leap_confinement.asks) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter) == 0;
  const int listener =
      (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, filter);
  if (listener < 0) return false;
  char byte = 0;
  struct iovec part = {&byte, 1};
  Ancillary ancillary = {{0}};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
  struct cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &listener, sizeof listener);
  const bool sent = sendmsg(channel, &message, 0) == 1;
  close(listener);
  return sent;
}

int leap_receive_listener(int channel) {
  char byte;
  struct iovec part = {&byte, 1};
  Ancillary ancillary;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
  ssize_t n;
  do n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  const struct cmsghdr* head = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!head || head->cmsg_type != SCM_RIGHTS) return -1;
  int listener;
  memcpy(&listener, CMSG_DATA(head), sizeof listener);
  return listener;
}

/* Tasks of all processes below this one. */
static long tasks_below(void) {
  pid_t pids[kMostProcesses];
  const int count = leap_tree(pids, kMostProcesses);
  long tasks = 0;
  for (int i = 0; i < count; ++i) tasks += tasks_of(pids[i]);
  return count == kMostProcesses ? count : tasks;
}

void leap_answer_wish(int listener, long most, long* granted) {
  /* Larger than today's structures: later kernels write more. */
  union {
    struct seccomp_notif wish;
    char room[512];
  } in;
  union {
    struct seccomp_notif_resp answer;
    char room[512];
  } out;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) != 0) return; /* it has been killed meanwhile */
  /* Counting takes long, and those that were refused ask again at once. */
  static struct timespec full;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double since_s = (double)(now.tv_sec - full.tv_sec) + (double)(now.tv_nsec - full.tv_nsec) * 1e-9;
  if (*granted >= most && since_s > 0.005) {
    *granted = tasks_below();
    if (*granted >= most) full = now;
  }
  out.answer.id = in.wish.id;
  if (*granted < most) {
    ++*granted;
    out.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    out.answer.error = -EAGAIN;
  }
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
}

static int children_of(pid_t pid, pid_t* pids, int most) {
  char path[64];
  int found = 0;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR* directory = opendir(path);
  for (struct dirent* entry; directory && (entry = readdir(directory));) {
    if (entry->d_name[0] == '.') continue;
    char name[300];
    snprintf(name, sizeof name, "%s/children", entry->d_name);
    const int fd = openat(dirfd(directory), name, O_RDONLY | O_CLOEXEC);
    FILE* file = fd < 0 ? NULL : fdopen(fd, "r");
    while (file && found < most && fscanf(file, "%d", &pids[found]) == 1) ++found;
    if (file) fclose(file);
  }
  if (directory) closedir(directory);
  return found;
}

int leap_tree(pid_t* pids, int most) {
  int found = children_of(getpid(), pids, most);
  for (int i = 0; i < found; ++i) found += children_of(pids[i], pids + found, most - found);
  return found;
}

typedef struct {
  long kb, files;
} Amount;

/* Adds what lies in the directory `fd`, which it closes. */
static bool fits(int fd, int level, Amount* amount) {
  DIR* directory = fdopendir(fd);
  if (!directory) {
    close(fd);
    return true;
  }
  bool all = level < kMostLevels;
  for (struct dirent* entry; all && (entry = readdir(directory));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    struct stat s;
    if (fstatat(dirfd(directory), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    amount->kb += s.st_blocks / 2;
    all = ++amount->files <= kMostFiles && amount->kb <= leap_confinement.most_kb;
    const int inner = all && S_ISDIR(s.st_mode) ? openat(dirfd(directory), entry->d_name,
                                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                                : -1;
    if (inner >= 0) all = fits(inner, level + 1, amount);
  }
  closedir(directory);
  return all;
}

bool leap_too_full(const char* path) {
  Amount amount = {0, 0};
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd >= 0 && !fits(fd, 0, &amount);
}
