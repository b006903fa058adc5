#define _GNU_SOURCE
#include "upkeep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confined.h"

/* Entries of a directory. Not by opendir, which allocates: the heap is the children's, and what is written
 * there while one runs costs a copy of the page or, worse, of the map of a huge one. */
typedef struct {
  int fd;
  long at, size; /* size < 0: cannot be read */
  char entries[1 << 15];
} Listing;

/* The next name but "." and ".."; NULL after the last one. */
static const char* next_name(Listing* listing) {
  while (true) {
    if (listing->at == listing->size) {
      listing->at = 0;
      listing->size = syscall(SYS_getdents64, listing->fd, listing->entries, sizeof listing->entries);
      if (listing->size <= 0) return NULL;
    }
    const struct dirent64* entry = (const struct dirent64*)(listing->entries + listing->at);
    listing->at += entry->d_reclen;
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) return entry->d_name;
  }
}

static Listing* list(int fd) {
  static Listing listing;
  listing.fd = fd;
  listing.at = listing.size = 0;
  return &listing;
}

bool leap_clean(const char* path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long level = 0;
  int vain = 0; /* returns from directories that could not be removed then */
  while (fd >= 0) {
    char deeper[256] = "";
    bool all = true;
    Listing* entries = list(fd);
    for (const char* name; all && !deeper[0] && (name = next_name(entries));) {
      if (unlinkat(fd, name, 0) == 0) continue;
      if (unlinkat(fd, name, AT_REMOVEDIR) == 0) {
        vain = 0;
        continue;
      }
      snprintf(deeper, sizeof deeper, "%s", name);
      all = vain < 100 && fchmodat(fd, deeper, 0700, 0) == 0;
    }
    all = all && entries->size >= 0;
    const bool done = all && !deeper[0];
    const int next = !all || (done && level == 0)
                         ? -1
                         : openat(fd, done ? ".." : deeper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(fd);
    if (done && level == 0) return true;
    level += done ? -1 : 1;
    if (done) ++vain;
    fd = next;
  }
  return false;
}

double leap_cpu_of(pid_t pid) {
  struct timespec t;
  if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &t) != 0) return -1;
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

long leap_memory_kb(pid_t pid, bool resident) {
  char path[64], line[128];
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, line, sizeof line - 1);
  close(fd);
  if (n <= 0) return 0;
  line[n] = 0;
  long all = 0, in_memory = 0;
  sscanf(line, "%ld %ld", &all, &in_memory);
  return (resident ? in_memory : all) * (sysconf(_SC_PAGESIZE) / 1024);
}

static void add_use(pid_t pid, Use* use) {
  const double cpu_s = leap_cpu_of(pid);
  if (cpu_s > 0) use->cpu_s += cpu_s;
  use->rss_kb += leap_memory_kb(pid, true);
}

Use leap_others(pid_t pid, bool contained) {
  Use use = {0, 0};
  pid_t pids[512];
  const int count = leap_confinement.on ? leap_tree(pids, 512) : 0;
  for (int i = 0; i < count; ++i)
    if (pids[i] != pid) add_use(pids[i], &use);
  const int processes = contained ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (processes < 0) return use;
  Listing* entries = list(processes);
  for (const char* name; (name = next_name(entries));) {
    const pid_t other = atoi(name);
    if (other > 1 && other != pid) add_use(other, &use);
  }
  close(processes);
  return use;
}

static double seconds(struct timeval t) {
  return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

Use leap_kill_children(pid_t pid, bool contained) {
  Use use = {0, 0};
  while (true) {
    if (contained) {
      kill(-1, SIGKILL);
    } else {
      if (pid > 0 && !leap_confinement.on) kill(-pid, SIGKILL);
      char path[64];
      snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
      FILE* file = fopen(path, "re");
      for (int child; file && fscanf(file, "%d", &child) == 1;) kill(child, SIGKILL);
      if (file) fclose(file);
    }
    struct rusage usage;
    if (wait4(-1, NULL, 0, &usage) < 0) {
      if (errno == EINTR) continue;
      return use;
    }
    use.cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (usage.ru_maxrss > use.rss_kb) use.rss_kb = usage.ru_maxrss;
  }
}

void leap_end_tree(pid_t pid) {
  kill(leap_confinement.on ? -pid : pid, SIGKILL);
}
