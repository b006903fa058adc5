/* The loop of the first process of a sandbox, loaded into its Python by supervisor.py. It runs one child per
 * request of the parent, keeps the child's limits, relays messages between the two and says how the child
 * ended. Nothing secret is ever here: children are forks of it.
 *
 * Frames on the control socket (both ways), and on the pipes to and from a child: a 4-byte length, then
 * fields of a 4-byte length and bytes each. Whatever a child sends must start with the nonce that it was
 * given, or it counts as forged. Requests: start kind limits stdin argv program message (name content)*; keep
 * name content; fetch name; and to a running child: msg fields.., close, stop. A start that comes while a
 * child runs waits for its end; it is read one frame at a time, so that no child is a fork of a process that
 * knows the next one's input. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "confined.h"

/* Of Python's stable interface: no headers are needed for these. */
typedef struct _object PyObject;
extern PyObject* PyBytes_FromStringAndSize(const char*, ssize_t);
extern PyObject* PyDict_New(void);
extern int PyDict_SetItem(PyObject*, PyObject*, PyObject*);
extern PyObject* PyObject_CallObject(PyObject*, PyObject*);
extern PyObject* PyTuple_New(ssize_t);
extern int PyTuple_SetItem(PyObject*, ssize_t, PyObject*);

enum { kMaxMessage = 64 << 20, kMaxFile = 250 << 20, kMaxFields = 1 << 16, kMaxKept = 16, kSharedFd = 7 };

typedef struct {
  char* data;
  size_t size, room;
} Bytes;

typedef struct {
  const char* data;
  size_t size;
} View;

typedef struct {
  Bytes body;
  View* fields;
  size_t count, room;
} Frame;

typedef struct {
  Bytes name, content;
} Kept;

/* What a child may use, and what is known of it while it runs. */
typedef struct {
  double cpu_s, wall_s;
  long memory_kb, output_kb, file_kb, processes;
  int messages; /* it is stopped after this many; 0: no end */
  int reserves; /* addresses without end: what is resident counts alone */
} Limits;

static struct {
  PyObject* python;
  int control;
  bool contained; /* a pid namespace of our own, of which we are the first process */
  char work_dir[512];
  char shared[1024]; /* names of sealed files, open as kSharedFd, .., for programs of the system; '|' between
                      */
  int shared_count;
  struct sock_fprog filter;
  unsigned short
      own_pid[8]; /* instructions of the filter that hold the pid of the child that it is loaded in */
  int own_pids;
  pid_t child;  /* that runs, or 0 */
  long base_kb; /* address space of this process */
  int cores;
  rlim_t hard[RLIM_NLIMITS];
  struct sigaction interrupt; /* Python's own answer to SIGINT, for its children */
  Kept kept[kMaxKept];
  Frame request, order;
  bool order_waits; /* `order` holds a request that came while a child ran */
  Bytes inbox, reply, pending;
  size_t fed; /* of `pending` */
} self;

static void leave(void);

static void* must(void* memory) {
  if (!memory) leave();
  return memory;
}

static void reserve(Bytes* bytes, size_t room) {
  if (room <= bytes->room) return;
  bytes->room = room + room / 4 + 64;
  bytes->data = must(realloc(bytes->data, bytes->room));
}

/* Empties it, and gives large memory back. */
static void clear(Bytes* bytes) {
  bytes->size = 0;
  if (bytes->room <= 1 << 16) return;
  free(bytes->data);
  memset(bytes, 0, sizeof *bytes);
}

static void append(Bytes* bytes, const void* data, size_t size) {
  reserve(bytes, bytes->size + size);
  if (size) memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

static void append_number(Bytes* bytes, size_t number) {
  const unsigned char four[4] = {number, number >> 8, number >> 16, number >> 24};
  append(bytes, four, 4);
}

static size_t number_at(const char* data) {
  const unsigned char* p = (const unsigned char*)data;
  return p[0] | p[1] << 8 | p[2] << 16 | (size_t)p[3] << 24;
}

static bool is(View view, const char* word) {
  return view.size == strlen(word) && memcmp(view.data, word, view.size) == 0;
}

static View field(const Frame* frame, size_t i) {
  return i < frame->count ? frame->fields[i] : (View){"", 0};
}

/* A field as a string; cut at `room`. */
static char* text(View view, char* out, size_t room) {
  const size_t size = view.size < room - 1 ? view.size : room - 1;
  memcpy(out, view.data, size);
  out[size] = 0;
  return out;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* CPU seconds of a process, or less than 0. */
static double cpu_of(pid_t pid) {
  struct timespec t;
  if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &t) != 0) return -1;
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t) {
  return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static bool write_all(int fd, const char* data, size_t size) {
  while (size) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

static bool read_exactly(int fd, char* data, size_t size) {
  while (size) {
    const ssize_t n = read(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

/* Fields of `frame->body`. */
static bool unpack(Frame* frame) {
  frame->count = 0;
  for (size_t at = 0; at < frame->body.size;) {
    if (at + 4 > frame->body.size) return false;
    const size_t size = number_at(frame->body.data + at);
    if (size > frame->body.size - at - 4 || frame->count == kMaxFields) return false;
    if (frame->count == frame->room) {
      frame->room = frame->room * 2 + 16;
      frame->fields = must(realloc(frame->fields, frame->room * sizeof *frame->fields));
    }
    frame->fields[frame->count++] = (View){frame->body.data + at + 4, size};
    at += 4 + size;
  }
  return true;
}

static bool read_frame(Frame* frame) {
  char head[4];
  clear(&frame->body);
  if (!read_exactly(self.control, head, 4)) return false;
  const size_t size = number_at(head);
  reserve(&frame->body, size);
  frame->body.size = size;
  return read_exactly(self.control, frame->body.data, size) && unpack(frame) && frame->count > 0;
}

/* An answer is begun, gets its fields and is sent. */
static void begin_answer(const char* kind) {
  clear(&self.reply);
  append_number(&self.reply, 0);
  append_number(&self.reply, strlen(kind));
  append(&self.reply, kind, strlen(kind));
}

static void add_field(const void* data, size_t size) {
  append_number(&self.reply, size);
  append(&self.reply, data, size);
}

/* Up to `size` bytes of a file from its start. */
static void add_file(int fd, size_t size) {
  const size_t at = self.reply.size;
  append_number(&self.reply, 0);
  reserve(&self.reply, self.reply.size + size);
  size_t got = 0;
  while (got < size) {
    const ssize_t n = pread(fd, self.reply.data + self.reply.size + got, size - got, (off_t)got);
    if (n <= 0) break;
    got += (size_t)n;
  }
  self.reply.size = at;
  append_number(&self.reply, got);
  self.reply.size += got;
}

static void send_answer(void) {
  const size_t size = self.reply.size;
  self.reply.size = 0;
  append_number(&self.reply, size - 4);
  self.reply.size = size;
  if (!write_all(self.control, self.reply.data, size)) leave();
  clear(&self.reply);
}

/* Empties a directory, however deep it is; false where a child left something that resists. */
static bool clean(const char* path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long level = 0;
  int vain = 0; /* returns from directories that could not be removed then */
  while (fd >= 0) {
    char deeper[256] = "";
    bool all = true;
    DIR* directory = fdopendir(dup(fd));
    if (directory) rewinddir(directory); /* a directory entered again is read from its start */
    for (struct dirent* entry; directory && all && !deeper[0] && (entry = readdir(directory));) {
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      if (unlinkat(fd, entry->d_name, 0) == 0) continue;
      if (unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0) {
        vain = 0;
        continue;
      }
      snprintf(deeper, sizeof deeper, "%s", entry->d_name);
      all = vain < 100 && fchmodat(fd, deeper, 0700, 0) == 0;
    }
    if (directory) closedir(directory);
    const bool done = all && directory && !deeper[0];
    const int next = !all || !directory || (done && level == 0)
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

typedef struct {
  double cpu_s;
  long rss_kb;
} Use;

/* Ends every process of the sandbox but this one; what those used that was not yet counted. */
static Use kill_children(pid_t pid) {
  Use use = {0, 0};
  while (true) {
    if (self.contained) {
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

/* Ends the running child, not yet reaped, and all that is in its group. Those that have left the group, where
 * they may, are kill_children's. */
static void end_tree(pid_t pid) {
  kill(leap_confinement.on ? -pid : pid, SIGKILL);
}

/* The parent is gone, or nothing can be said to it any more. */
static void leave(void) {
  if (self.child) end_tree(self.child);
  kill_children(0);
  if (!self.contained && clean(self.work_dir)) rmdir(self.work_dir);
  _exit(0);
}

/* Pages of 1 kB: all (`resident` false) or those in memory. */
static long memory_kb(pid_t pid, bool resident) {
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
  const double cpu_s = cpu_of(pid);
  if (cpu_s > 0) use->cpu_s += cpu_s;
  use->rss_kb += memory_kb(pid, true);
}

/* Of the processes of the sandbox besides this one and `pid`. */
static Use others(pid_t pid) {
  Use use = {0, 0};
  pid_t pids[512];
  const int count = leap_confinement.on ? leap_tree(pids, 512) : 0;
  for (int i = 0; i < count; ++i)
    if (pids[i] != pid) add_use(pids[i], &use);
  DIR* directory = self.contained ? opendir("/proc") : NULL;
  for (struct dirent* entry; directory && (entry = readdir(directory));) {
    const pid_t other = atoi(entry->d_name);
    if (other > 1 && other != pid) add_use(other, &use);
  }
  if (directory) closedir(directory);
  return use;
}

static int new_file(View content) {
  const int fd = memfd_create("file", MFD_CLOEXEC);
  if (fd < 0 || !write_all(fd, content.data, content.size)) leave();
  if (content.size) lseek(fd, 0, SEEK_SET);
  return fd;
}

static void lower(int what, rlim_t soft, rlim_t hard) {
  const rlim_t top = self.hard[what];
  if (hard > top) hard = top; /* RLIM_INFINITY is the largest */
  if (soft > hard) soft = hard;
  const struct rlimit limit = {soft, hard};
  setrlimit((__rlimit_resource_t)what, &limit);
}

static void close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  for (int fd = first; fd < 4096; ++fd) close(fd);
}

/* In the child: its files (0 to 4: stdin, stdout, stderr, from and to the supervisor; 5 its program), limits
 * and filter. */
static void enter(const Limits* limits, const int files[5], int program, bool shared) {
  if (leap_confinement.on)
    leap_confine_child();
  else
    setpgid(0, 0); /* a session of its own would cost a group of the scheduler */
  int copies[6];
  for (int i = 0; i < 5; ++i) copies[i] = fcntl(files[i], F_DUPFD_CLOEXEC, 64);
  if (program >= 0) copies[5] = fcntl(program, F_DUPFD_CLOEXEC, 64);
  for (int i = 0; i < 5; ++i) dup2(copies[i], i);
  if (program >= 0) dup3(copies[5], 5, O_CLOEXEC);
  if (shared) {
    for (int fd = 5; fd < kSharedFd; ++fd) close(fd);
    for (int i = 0; i < self.shared_count; ++i) fcntl(kSharedFd + i, F_SETFD, 0);
    close_from(kSharedFd + self.shared_count);
  } else {
    close_from(program >= 0 ? 6 : 5);
  }
  const rlim_t cpu_s = (rlim_t)limits->cpu_s;
  lower(RLIMIT_CPU, cpu_s + 2, cpu_s + 3);
  lower(RLIMIT_STACK, RLIM_INFINITY, RLIM_INFINITY);
  lower(RLIMIT_FSIZE, (rlim_t)limits->file_kb << 10, (rlim_t)limits->file_kb << 10);
  lower(RLIMIT_CORE, 0, 0);
  lower(RLIMIT_MEMLOCK, 64 << 10, 64 << 10);
  lower(RLIMIT_MSGQUEUE, 0, 0);
  lower(RLIMIT_NOFILE, 256, 256);
  const rlim_t tasks = (rlim_t)(limits->processes + leap_confinement.other_tasks);
  lower(RLIMIT_NPROC, tasks, tasks);
  if (!limits->reserves) lower(RLIMIT_AS, (rlim_t)limits->memory_kb << 10, (rlim_t)limits->memory_kb << 10);
  for (int i = 0; i < self.own_pids; ++i) self.filter.filter[self.own_pid[i]].k = (unsigned)getpid();
  if (self.filter.len && !leap_load_filter(&self.filter, 4)) _exit(126);
}

/* Starts another program, the file `program` or argv[0]. Such a child needs no copy of this process's memory.
 */
static __attribute__((noinline)) pid_t start_program(const Limits* limits, const int files[5], int program,
                                                     bool shared, bool talks, char* const* argv,
                                                     char* const* environment) {
  const pid_t pid = vfork();
  if (pid != 0) return pid;
  enter(limits, files, program, shared);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  if (!talks) {
    close(3);
    close(4);
  }
  if (program >= 0)
    syscall(SYS_execveat, 5, "", argv, environment, AT_EMPTY_PATH);
  else
    execve(argv[0], argv, environment);
  _exit(126);
}

/* Frames out of bytes that come in any pieces from a child that cannot be trusted. */
typedef struct {
  int fd;
  bool open, forged;
  char nonce[33];
  int messages; /* forwarded */
} Inbox;

/* Reads what is there and forwards whole messages. False when there is nothing now. */
static bool pump(Inbox* inbox) {
  Bytes* data = &self.inbox;
  enum { kPart = 1 << 15 };
  reserve(data, data->size + kPart);
  const ssize_t n = read(inbox->fd, data->data + data->size, kPart);
  if (n < 0) return false;
  if (n == 0) {
    inbox->open = false;
    return false;
  }
  if (inbox->forged) return true;
  data->size += (size_t)n;
  size_t at = 0;
  while (data->size - at >= 4 && !inbox->forged) {
    const size_t size = number_at(data->data + at);
    if (size > kMaxMessage) inbox->forged = true;
    if (inbox->forged || data->size - at - 4 < size) break;
    const char* body = data->data + at + 4;
    at += 4 + size;
    /* Its fields must fill it exactly, the nonce first. */
    size_t end = 0;
    while (end + 4 <= size && number_at(body + end) <= size - end - 4) end += 4 + number_at(body + end);
    if (end != size || size < 36 || number_at(body) != 32 || memcmp(body + 4, inbox->nonce, 32) != 0) {
      inbox->forged = true;
      break;
    }
    begin_answer("msg");
    append(&self.reply, body + 36, size - 36);
    send_answer();
    ++inbox->messages;
  }
  if (at) memmove(data->data, data->data + at, data->size -= at);
  return true;
}

static void make_directories(char* path) {
  for (char* slash = strchr(path + strlen(self.work_dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
  }
}

/* Links to the sealed files. */
static void place_shared(void) {
  const char* name = self.shared;
  for (int i = 0; i < self.shared_count; ++i) {
    const int size = (int)strcspn(name, "|");
    char path[1700], target[64];
    snprintf(path, sizeof path, "%s/%.*s", self.work_dir, size, name);
    make_directories(path);
    snprintf(target, sizeof target, "/proc/self/fd/%d", kSharedFd + i);
    if (symlink(target, path) != 0) leave();
    name += size + (name[size] == '|');
  }
}

static void place_files(const Frame* request, size_t first) {
  for (size_t i = first; i + 1 < request->count; i += 2) {
    char name[512], path[1100];
    snprintf(path, sizeof path, "%s/%s", self.work_dir, text(request->fields[i], name, sizeof name));
    make_directories(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const View content = request->fields[i + 1];
    if (fd < 0 || !write_all(fd, content.data, content.size)) leave();
    close(fd);
  }
}

static const Bytes* find_kept(View name) {
  for (int i = 0; i < kMaxKept; ++i)
    if (self.kept[i].name.size == name.size && memcmp(self.kept[i].name.data, name.data, name.size) == 0)
      return &self.kept[i].content;
  return NULL;
}

/* Keeps a blob under a name; an empty one is forgotten. */
static void keep(View name, View content) {
  Kept* place = NULL;
  for (int i = 0; i < kMaxKept; ++i) {
    Kept* kept = &self.kept[i];
    const bool same = kept->name.size == name.size && memcmp(kept->name.data, name.data, name.size) == 0;
    if (same || (!place && !kept->name.size)) place = kept;
    if (same) break;
  }
  if (!place) leave();
  clear(&place->name);
  clear(&place->content);
  if (!content.size) return;
  append(&place->name, name.data, name.size);
  append(&place->content, content.data, content.size);
}

/* In the child: Python's part, called with kind, argv, nonce and {name: kept blob}. */
static void run_python(View kind, View argv, const char* nonce) {
  PyObject* kept = PyDict_New();
  for (int i = 0; i < kMaxKept; ++i)
    if (self.kept[i].name.size)
      PyDict_SetItem(
          kept, PyBytes_FromStringAndSize(self.kept[i].name.data, (ssize_t)self.kept[i].name.size),
          PyBytes_FromStringAndSize(self.kept[i].content.data, (ssize_t)self.kept[i].content.size));
  PyObject* out = PyTuple_New(4);
  PyTuple_SetItem(out, 0, PyBytes_FromStringAndSize(kind.data, (ssize_t)kind.size));
  PyTuple_SetItem(out, 1, PyBytes_FromStringAndSize(argv.data, (ssize_t)argv.size));
  PyTuple_SetItem(out, 2, PyBytes_FromStringAndSize(nonce, 32));
  PyTuple_SetItem(out, 3, kept);
  PyObject_CallObject(self.python, out);
  _exit(126);
}

/* The words between zero bytes, as execve wants them. */
static char** split_argv(View joined) {
  char* copy = must(malloc(joined.size + 1));
  size_t count = 1;
  for (size_t i = 0; i < joined.size; ++i) count += joined.data[i] == 0;
  memcpy(copy, joined.data, joined.size);
  copy[joined.size] = 0;
  char** argv = must(malloc((count + 1) * sizeof *argv));
  for (size_t i = 0; i < count; ++i) {
    argv[i] = copy;
    copy += strlen(copy) + 1;
  }
  argv[count] = NULL;
  return argv;
}

static void make_nonce(char out[33]) {
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != sizeof random) leave();
  for (int i = 0; i < 16; ++i) snprintf(out + 2 * i, 3, "%02x", random[i]);
}

/* Writes what the child still has to get. False when nothing can be written now. */
static bool feed(int fd) {
  while (self.fed < self.pending.size) {
    const ssize_t n = write(fd, self.pending.data + self.fed, self.pending.size - self.fed);
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) break;
    self.fed += (size_t)n;
  }
  clear(&self.pending);
  self.fed = 0;
  return true;
}

static void append_frame(Bytes* bytes, const View* fields, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += 4 + fields[i].size;
  append_number(bytes, size);
  for (size_t i = 0; i < count; ++i) {
    append_number(bytes, fields[i].size);
    append(bytes, fields[i].data, fields[i].size);
  }
}

/* While a child runs: relays, and watches its limits. Why it has to be ended, or NULL when it has ended. */
static const char* attend(pid_t pid, const Limits* limits, double begin, Inbox* inbox, int* down, int out,
                          int listener, long* peak_kb) {
  const int watch = (int)syscall(SYS_pidfd_open, pid, 0);
  if (watch < 0) leave();
  const char* how = NULL;
  bool ended = false, closing = false;
  double checked = begin;
  long granted = limits->processes; /* what it starts is counted at its first wish */
  while (!ended && !how) {
    double now = now_s();
    const double cpu = cpu_of(pid);
    const bool blocked = *down >= 0 && !feed(*down);
    if (closing && !blocked && *down >= 0) {
      close(*down);
      *down = -1;
    }
    double left = (limits->cpu_s - cpu) / self.cores;
    if (left < 0.002) left = 0.002;
    if (left > 0.05) left = 0.05;
    if (left > limits->wall_s - (now - begin)) left = limits->wall_s - (now - begin);
    if (left < 0) left = 0;
    const struct timespec timeout = {0, (long)(left * 1e9) + 500000};
    struct pollfd fds[5] = {{watch, POLLIN, 0},
                            {inbox->open ? inbox->fd : -1, POLLIN, 0},
                            {self.control, self.order_waits ? 0 : POLLIN, 0},
                            {blocked ? *down : -1, POLLOUT, 0},
                            {listener, POLLIN, 0}};
    const int events = ppoll(fds, 5, &timeout, NULL);
    if (events > 0 && fds[0].revents) break;
    if (events > 0 && fds[1].revents) {
      pump(inbox);
      if (limits->messages && inbox->messages >= limits->messages) how = "stopped";
    }
    if (events > 0 && fds[2].revents) {
      if (self.order_waits || !read_frame(&self.order)) leave();
      const View op = self.order.fields[0];
      if (is(op, "msg"))
        append_frame(&self.pending, self.order.fields + 1, self.order.count - 1);
      else if (is(op, "close"))
        closing = true;
      else if (is(op, "stop"))
        how = "stopped";
      else
        self.order_waits = true;
    }
    if (events > 0 && fds[4].revents & POLLIN) leap_answer_wish(listener, limits->processes, &granted);
    now = now_s();
    if (how || (events > 0 && now <= checked + 0.05)) continue;
    checked = now;
    const Use more = others(pid);
    const long rss_kb = memory_kb(pid, true) + more.rss_kb;
    struct stat s;
    if (rss_kb > *peak_kb) *peak_kb = rss_kb;
    if (cpu_of(pid) + more.cpu_s > limits->cpu_s)
      how = "cpu";
    else if (now - begin > limits->wall_s)
      how = "wall";
    else if (rss_kb > limits->memory_kb)
      how = "memory";
    else if ((fstat(out, &s) == 0 && s.st_size > limits->output_kb << 10) ||
             (leap_confinement.on && leap_too_full(self.work_dir)))
      how = "output";
  }
  close(watch);
  return how;
}

/* Runs the child that `request` asks for and answers how it ended. */
static void start(const Frame* request) {
  const View kind = field(request, 1);
  const bool talks = is(kind, "driver"), native = talks || is(kind, "binary");
  const View program_name = field(request, 5), message = field(request, 6);
  char numbers[256];
  Limits limits = {0};
  sscanf(text(field(request, 2), numbers, sizeof numbers), "%lf %lf %ld %ld %ld %ld %d %d", &limits.cpu_s,
         &limits.wall_s, &limits.memory_kb, &limits.output_kb, &limits.file_kb, &limits.processes,
         &limits.messages, &limits.reserves);
  limits.memory_kb += native ? 32 << 10 : self.base_kb;
  if (!clean(self.work_dir) || (self.contained && !clean("/dev/shm"))) {
    begin_answer("ended");
    add_field("dirty", 5);
    add_field("0 0 0 0 0", 9);
    add_field("", 0);
    add_field("", 0);
    send_answer();
    return;
  }
  const bool shared = self.shared_count > 0 && is(kind, "binary") && !program_name.size;
  if (shared) place_shared();
  place_files(request, 7);
  const View nothing = {"", 0};
  const int inp = new_file(field(request, 3)), out = new_file(nothing);
  const int err = native ? new_file(nothing) : open("/dev/null", O_WRONLY | O_CLOEXEC);
  int down[2], up[2], program = -1;
  if (err < 0 || pipe2(down, O_CLOEXEC) != 0) leave();
  /* A socket carries the descriptor at which a child asks. */
  if (leap_confinement.asks ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, up) : pipe2(up, O_CLOEXEC))
    leave();
  if (native && program_name.size) {
    const Bytes* content = find_kept(program_name);
    const int writable = new_file(content ? (View){content->data, content->size} : nothing);
    fchmod(writable, 0500);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", writable);
    program = open(path, O_RDONLY | O_CLOEXEC);
    close(writable);
    if (program < 0) leave();
  }
  Inbox inbox = {.fd = up[0], .open = true};
  make_nonce(inbox.nonce);
  clear(&self.inbox);
  clear(&self.pending);
  self.fed = 0;
  if (talks) append_frame(&self.pending, &(View){inbox.nonce, 32}, 1);
  if (message.size) append(&self.pending, message.data, message.size);
  char home[600], temporary[600];
  snprintf(home, sizeof home, "HOME=%s", self.work_dir);
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", self.work_dir);
  char* const environment[] = {"LANG=C.UTF-8", "PATH=/usr/bin:/bin", home, temporary, NULL};
  char** argv = native ? split_argv(field(request, 4)) : NULL;
  const int files[5] = {inp, out, err, down[0], up[1]};
  const double begin = now_s();
  pid_t pid;
  if (native) {
    pid = start_program(&limits, files, program, shared, talks, argv, environment);
  } else {
    /* Python need not be told of the fork: it has one thread, which holds all its locks, and no handlers of
     * forks. */
    pid = fork();
    if (pid == 0) {
      sigaction(SIGINT, &self.interrupt, NULL);
      enter(&limits, files, -1, false);
      run_python(kind, field(request, 4), inbox.nonce);
    }
  }
  if (pid < 0) leave();
  self.child = pid;
  if (leap_confinement.on) setpgid(pid, pid); /* unless it was faster */
  for (int i = 0; i < 5; ++i)
    if (i != 1 && i != 2) close(files[i]);
  if (program >= 0) close(program);
  if (argv) {
    free(argv[0]);
    free(argv);
  }
  fcntl(down[1], F_SETFL, O_NONBLOCK);
  long peak_kb = 0;
  const int listener = leap_confinement.asks ? leap_receive_listener(up[0]) : -1;
  fcntl(up[0], F_SETFL, O_NONBLOCK);
  const char* how = attend(pid, &limits, begin, &inbox, &down[1], out, listener, &peak_kb);
  if (how || leap_confinement.on) end_tree(pid);
  int status = 0;
  struct rusage usage = {0};
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) continue;
  self.child = 0;
  const double wall = now_s() - begin;
  const Use more = kill_children(pid);
  while (inbox.open && pump(&inbox)) continue;
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime) + more.cpu_s;
  struct stat s = {0};
  fstat(out, &s);
  const int code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  if (s.st_size > limits.output_kb << 10)
    how = "output";
  else if (!how && (cpu > limits.cpu_s || (WIFSIGNALED(status) && code == SIGXCPU)))
    how = "cpu";
  else if (!how)
    how = WIFSIGNALED(status) ? "signal" : "exit";
  long rss_kb = usage.ru_maxrss;
  if (more.rss_kb > rss_kb) rss_kb = more.rss_kb;
  if (peak_kb > rss_kb) rss_kb = peak_kb;
  begin_answer("ended");
  add_field(how, strlen(how));
  snprintf(numbers, sizeof numbers, "%d %.6f %.6f %ld %d", code, cpu, wall, rss_kb,
           inbox.forged || self.inbox.size ? 1 : 0);
  add_field(numbers, strlen(numbers));
  const size_t most = (size_t)limits.output_kb << 10;
  add_file(out, (size_t)s.st_size < most ? (size_t)s.st_size : most);
  if (native)
    add_file(err, 65536);
  else
    add_field("", 0);
  send_answer();
  close(out);
  close(err);
  close(up[0]);
  if (down[1] >= 0) close(down[1]);
  if (listener >= 0) close(listener);
}

static void fetch(View name) {
  char file[512], path[1100];
  snprintf(path, sizeof path, "%s/%s", self.work_dir, text(name, file, sizeof file));
  begin_answer("file");
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  struct stat s;
  if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode))
    add_file(fd, s.st_size < kMaxFile ? (size_t)s.st_size : kMaxFile);
  else
    add_field("", 0);
  if (fd >= 0) close(fd);
  send_answer();
}

/* Replaces read-only memory of a file by a copy in huge pages, which children have without a fault. */
static void copy_of_file(uintptr_t start, uintptr_t end) {
  const uintptr_t huge = 2 << 20;
  const size_t size = end - start;
  char* room = mmap(NULL, size + 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return;
  char* copy = room + (start - (uintptr_t)room) % huge;
  if (mprotect(copy, size, PROT_READ | PROT_WRITE) == 0) {
    madvise(copy, size, MADV_HUGEPAGE);
    memcpy(copy, (const void*)start, size);
    if (mprotect(copy, size, PROT_READ | PROT_EXEC) == 0)
      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)start);
  }
  munmap(room, size + 2 * huge);
}

/* The interpreter's code and constants. */
static void copy_interpreter(void) {
  char exe[512], line[1024];
  const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  FILE* maps = fopen("/proc/self/maps", "re");
  uintptr_t from = 0, to = 0;
  exe[n > 0 ? n : 0] = 0;
  while (maps && n > 0 && fgets(line, sizeof line, maps)) {
    uintptr_t start, end;
    char rights[8], path[600] = "";
    sscanf(line, "%lx-%lx %7s %*s %*s %*s %599s", &start, &end, rights, path);
    if (strcmp(path, exe) != 0 || rights[1] == 'w' || (to && start != to)) continue;
    if (!to) from = start;
    to = end;
  }
  if (maps) fclose(maps);
  /* What lies on huge pages; the rest would cost every fork more than it saves. */
  const uintptr_t huge = 2 << 20;
  from = (from + huge - 1) / huge * huge;
  to = to / huge * huge;
  if (from < to) copy_of_file(from, to);
}

/* `own_pid` stands in the filter for the pid of the process that it is loaded in. */
static void set_filter(const char* filter, size_t size, unsigned own_pid) {
  self.filter.len = (unsigned short)(size / sizeof(struct sock_filter));
  self.filter.filter = must(malloc(size + 1));
  memcpy(self.filter.filter, filter, size);
  for (unsigned short i = 0; i < self.filter.len; ++i)
    if (self.filter.filter[i].k == own_pid && BPF_CLASS(self.filter.filter[i].code) == BPF_JMP) {
      if (self.own_pids == sizeof self.own_pid / sizeof *self.own_pid) leave();
      self.own_pid[self.own_pids++] = i;
    }
}

/* Before leap_serve. */
__attribute__((visibility("default"))) void leap_set_up(int control, const char* work_dir, bool contained,
                                                        const char* filter, size_t filter_size,
                                                        unsigned own_pid, const char* shared) {
  self.control = control;
  self.contained = contained;
  snprintf(self.work_dir, sizeof self.work_dir, "%s", work_dir);
  snprintf(self.shared, sizeof self.shared, "%s", contained || leap_confinement.on ? shared : "");
  self.shared_count = self.shared[0] != 0;
  for (const char* at = self.shared; *at; ++at) self.shared_count += *at == '|';
  set_filter(filter, filter_size, own_pid);
  self.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    struct rlimit limit;
    self.hard[i] = getrlimit((__rlimit_resource_t)i, &limit) == 0 ? limit.rlim_max : RLIM_INFINITY;
  }
}

/* Serves the parent, as long as there is one; `python` is called in children. */
__attribute__((visibility("default"))) void leap_serve(PyObject* python) {
  self.python = python;
  self.base_kb = memory_kb(getpid(), false);
  const struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigaction(SIGINT, &ignore, &self.interrupt);
  copy_interpreter();
  begin_answer("hello");
  add_field("1", 1);
  send_answer();
  while (true) {
    if (self.order_waits) {
      const Frame swap = self.request;
      self.request = self.order;
      self.order = swap;
      self.order_waits = false;
    } else if (!read_frame(&self.request)) {
      leave();
    }
    const View op = self.request.fields[0];
    if (is(op, "start"))
      start(&self.request);
    else if (is(op, "keep"))
      keep(field(&self.request, 1), field(&self.request, 2));
    else if (is(op, "fetch"))
      fetch(field(&self.request, 1));
  }
}
