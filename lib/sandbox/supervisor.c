/* The loop of the first process of a sandbox, loaded into its Python by supervisor.py. It runs one child per
 * request of the parent, keeps the child's limits and says how the child ended. Nothing secret is ever here:
 * children are forks of it.
 *
 * Requests are frames on the control socket. start number kind limits argv nonce roles (name content)*: with
 * a descriptor for each letter of roles: i, o, e what become stdin, stdout, stderr; d, u its pipes from and
 * to the parent; p the file of a program. A start that comes while a child runs waits for its end; requests
 * are read one at a time, so that no child is a fork of a process that knows the next one's input. stop
 * number: ends that child, if it still runs. keep name content; fetch name. What the child and the parent say
 * to each other does not pass here; whatever the child sends must start with the nonce that it was given. A
 * nonce twice as long has a second half that Python does not get to know: a message of both halves alone says
 * that what Python was called for has come to its end, and returned True. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "confined.h"
#include "frames.h"
#include "guard.h"
#include "memory.h"
#include "upkeep.h"

/* Weak: a shell script in place of the interpreter loads this library too. */
#pragma weak PyBytes_FromStringAndSize
#pragma weak PyDict_DelItem
#pragma weak PyDict_GetItem
#pragma weak PyDict_New
#pragma weak PyDict_SetItem
#pragma weak PyErr_Clear
#pragma weak PyList_Append
#pragma weak PyList_New
#pragma weak PyObject_CallFunctionObjArgs
#pragma weak PyObject_CallObject
#pragma weak PyTuple_New
#pragma weak PyTuple_SetItem
#pragma weak PyUnicode_DecodeUTF8
#pragma weak Py_DecRef
#pragma weak Py_IncRef
#pragma weak _Py_TrueStruct
extern PyObject* PyBytes_FromStringAndSize(const char*, ssize_t);
extern int PyDict_DelItem(PyObject*, PyObject*);
extern PyObject* PyDict_GetItem(PyObject*, PyObject*);
extern PyObject* PyDict_New(void);
extern int PyDict_SetItem(PyObject*, PyObject*, PyObject*);
extern void PyErr_Clear(void);
extern int PyList_Append(PyObject*, PyObject*);
extern PyObject* PyList_New(ssize_t);
extern PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
extern PyObject* PyObject_CallObject(PyObject*, PyObject*);
extern PyObject* PyTuple_New(ssize_t);
extern int PyTuple_SetItem(PyObject*, ssize_t, PyObject*);
extern PyObject* PyUnicode_DecodeUTF8(const char*, ssize_t, const char*);
extern void Py_DecRef(PyObject*);
extern void Py_IncRef(PyObject*);
extern PyObject _Py_TrueStruct;

enum { kMaxFile = 250 << 20, kNonce = 32 };

static struct {
  PyObject* kinds;     /* of children that hold Python: their functions */
  PyObject* readers;   /* of blobs: their functions by name */
  PyObject* kept;      /* blobs by name */
  PyObject* arguments; /* of the last child that holds Python */
  int control;
  int nowhere;    /* /dev/null */
  bool contained; /* a pid namespace of our own, of which we are the first process */
  Ground ground;
  pid_t child;  /* that runs, or 0 */
  long base_kb; /* address space of this process */
  int cores;
  struct sigaction interrupt; /* Python's own answer to SIGINT, for its children */
  Frame request, order, stop;
  bool order_waits; /* `order` holds a request that came while a child ran */
  Bytes answer;
} self;

void leap_leave(void) {
  if (self.child) leap_end_tree(self.child);
  leap_kill_children(0, self.contained);
  if (!self.contained && leap_clean(self.ground.work_dir)) rmdir(self.ground.work_dir);
  _exit(0);
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t) {
  return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static PyObject* bytes_of(View view) {
  return PyBytes_FromStringAndSize(view.data, (ssize_t)view.size);
}

/* Keeps a blob under a name, as what its reader makes of it, if it has one; an empty one is forgotten. */
static void keep(View name, View content) {
  PyObject* key = bytes_of(name);
  PyObject* value = bytes_of(content);
  if (!key || !value) leap_leave();
  PyObject* reader = PyDict_GetItem(self.readers, key);
  PyObject* read = reader && content.size ? PyObject_CallFunctionObjArgs(reader, value, NULL) : NULL;
  if (read) {
    Py_DecRef(value);
    value = read;
  }
  PyErr_Clear();
  if ((content.size ? PyDict_SetItem(self.kept, key, value) : PyDict_DelItem(self.kept, key)) != 0)
    PyErr_Clear();
  Py_DecRef(key);
  Py_DecRef(value);
}

/* What a kind's function is called with: argv, nonce, what is kept. Made before the fork: what a child makes
 * costs it pages. */
static PyObject* arguments_of(const Frame* request) {
  View words = leap_field(request, 4), nonce = leap_field(request, 5);
  if (nonce.size > kNonce) nonce.size = kNonce;
  PyObject* argv = PyList_New(0);
  while (argv) {
    const char* end = memchr(words.data, 0, words.size);
    const size_t size = end ? (size_t)(end - words.data) : words.size;
    PyObject* word = PyUnicode_DecodeUTF8(words.data, (ssize_t)size, "replace");
    if (!word || PyList_Append(argv, word) != 0) leap_leave();
    Py_DecRef(word);
    if (!end) break;
    words = (View){end + 1, words.size - size - 1};
  }
  PyObject* out = PyTuple_New(3);
  PyObject* first = bytes_of(nonce);
  if (!argv || !out || !first) leap_leave();
  PyTuple_SetItem(out, 0, argv);
  PyTuple_SetItem(out, 1, first);
  Py_IncRef(self.kept);
  PyTuple_SetItem(out, 2, self.kept);
  return out;
}

/* In the child: Python's part. */
static void run_python(PyObject* function, PyObject* arguments, View nonce) {
  enum { kSendFd = 4 };
  const bool sealed = nonce.size == 2 * kNonce;
  if (sealed) leap_guard_interpreter();
  const bool well = function && PyObject_CallObject(function, arguments) == &_Py_TrueStruct;
  if (!well || !sealed) _exit(126);
  leap_begin_frame(&self.answer);
  leap_add_field(&self.answer, nonce.data, kNonce);
  leap_add_field(&self.answer, nonce.data + kNonce, kNonce);
  leap_send_answer(kSendFd, &self.answer);
  _exit(0);
}

/* A request while child `number` runs. True when it is to end that child. */
static bool take_order(View number) {
  Frame* frame = self.order_waits ? &self.stop : &self.order;
  if (!leap_read_frame(self.control, frame)) leap_leave();
  if (leap_is(frame->fields[0], "stop")) {
    const View which = leap_field(frame, 1);
    return which.size == number.size && memcmp(which.data, number.data, number.size) == 0;
  }
  if (self.order_waits) leap_leave();
  self.order_waits = true;
  return false;
}

/* While a child runs: watches its limits. Why it has to be ended, or NULL when it has ended. */
static const char* attend(pid_t pid, View number, const Limits* limits, double begin, int out, int listener,
                          long* peak_kb) {
  const int watch = (int)syscall(SYS_pidfd_open, pid, 0);
  if (watch < 0) leap_leave();
  const char* how = NULL;
  double checked = begin;
  long granted = limits->processes; /* what it starts is counted at its first wish */
  while (!how) {
    double now = now_s();
    double left = (limits->cpu_s - leap_cpu_of(pid)) / self.cores;
    if (left < 0.002) left = 0.002;
    if (left > 0.05) left = 0.05;
    if (left > limits->wall_s - (now - begin)) left = limits->wall_s - (now - begin);
    if (left < 0) left = 0;
    const struct timespec timeout = {0, (long)(left * 1e9) + 500000};
    struct pollfd fds[3] = {{watch, POLLIN, 0}, {self.control, POLLIN, 0}, {listener, POLLIN, 0}};
    const int events = ppoll(fds, 3, &timeout, NULL);
    if (events > 0 && fds[0].revents) break;
    if (events > 0 && fds[1].revents && take_order(number)) how = "stopped";
    if (events > 0 && fds[2].revents & POLLIN) leap_answer_wish(listener, limits->processes, &granted);
    now = now_s();
    if (how || (events > 0 && now <= checked + 0.05)) continue;
    checked = now;
    const Use more = leap_others(pid, self.contained);
    const long rss_kb = leap_memory_kb(pid, true) + more.rss_kb;
    struct stat s;
    if (rss_kb > *peak_kb) *peak_kb = rss_kb;
    if (leap_cpu_of(pid) + more.cpu_s > limits->cpu_s)
      how = "cpu";
    else if (now - begin > limits->wall_s)
      how = "wall";
    else if (rss_kb > limits->memory_kb)
      how = "memory";
    else if ((fstat(out, &s) == 0 && s.st_size > limits->output_kb << 10) ||
             (leap_confinement.on && leap_too_full(self.ground.work_dir)))
      how = "output";
  }
  close(watch);
  return how;
}

static void answer_end(const char* how, const char* numbers) {
  leap_begin_answer(&self.answer, "ended");
  leap_add_field(&self.answer, how, strlen(how));
  leap_add_field(&self.answer, numbers, strlen(numbers));
  leap_send_answer(self.control, &self.answer);
}

/* The descriptor that came for a role; -1 if none did. */
static int fd_of(const Frame* request, char role) {
  const View roles = leap_field(request, 6);
  const char* at = memchr(roles.data, role, roles.size);
  return at && at - roles.data < request->fd_count ? request->fds[at - roles.data] : -1;
}

static void close_files(const Frame* request) {
  for (int i = 0; i < request->fd_count; ++i) close(request->fds[i]);
}

/* Starts it and closes our ends of its pipes, so that the parent sees the end of them. */
static pid_t start_child(const Frame* request, const Limits* limits, Launch* launch) {
  pid_t pid;
  if (fd_of(request, 'e') >= 0) {
    pid = leap_start_program(&self.ground, limits, launch, leap_field(request, 4));
  } else {
    PyObject* kind = bytes_of(leap_field(request, 2));
    PyObject* function = kind ? PyDict_GetItem(self.kinds, kind) : NULL;
    if (!kind) leap_leave();
    Py_DecRef(kind);
    /* Only where no child shares the page: writing to it would split it for good. */
    if (self.arguments) Py_DecRef(self.arguments);
    self.arguments = arguments_of(request);
    /* Python need not be told of the fork: it has one thread, which holds all its locks, and no handlers of
     * forks. */
    pid = fork();
    if (pid == 0) {
      sigaction(SIGINT, &self.interrupt, NULL);
      leap_enter(&self.ground, limits, launch);
      run_python(function, self.arguments, leap_field(request, 5));
    }
  }
  if (pid < 0) leap_leave();
  self.child = pid;
  if (leap_confinement.on) setpgid(pid, pid); /* unless it was faster */
  return pid;
}

/* Runs the child that `request` asks for and answers how it ended. */
static void start(const Frame* request) {
  const int out = fd_of(request, 'o'), err = fd_of(request, 'e'), program = fd_of(request, 'p');
  const bool native = err >= 0; /* the errors of Python are told in messages */
  char numbers[256];
  Limits limits = {0};
  sscanf(leap_text(leap_field(request, 3), numbers, sizeof numbers), "%lf %lf %ld %ld %ld %ld %d",
         &limits.cpu_s, &limits.wall_s, &limits.memory_kb, &limits.output_kb, &limits.file_kb,
         &limits.processes, &limits.reserves);
  limits.memory_kb += native ? 32 << 10 : self.base_kb;
  if (!leap_clean(self.ground.work_dir) || (self.contained && !leap_clean("/dev/shm"))) {
    close_files(request);
    answer_end("dirty", "0 0 0 0");
    return;
  }
  Launch launch = {
      {fd_of(request, 'i'), out, native ? err : self.nowhere, fd_of(request, 'd'), fd_of(request, 'u')},
      program,
      -1,
      self.ground.shared_count > 0 && leap_is(leap_field(request, 2), "binary") && program < 0};
  if (launch.shared) leap_place_shared(&self.ground);
  leap_place_files(&self.ground, request, 7);
  /* A socket carries the descriptor at which a child asks. */
  int asks[2] = {-1, -1};
  if (leap_confinement.asks && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, asks) != 0) leap_leave();
  launch.ask = asks[1];
  const double begin = now_s();
  const pid_t pid = start_child(request, &limits, &launch);
  for (int i = 0; i < request->fd_count; ++i)
    if (request->fds[i] != out) close(request->fds[i]);
  int listener = -1;
  if (leap_confinement.asks) {
    close(asks[1]);
    listener = leap_receive_listener(asks[0]);
    close(asks[0]);
  }
  long peak_kb = 0;
  const char* how = attend(pid, leap_field(request, 1), &limits, begin, out, listener, &peak_kb);
  if (how || leap_confinement.on) leap_end_tree(pid);
  int status = 0;
  struct rusage usage = {0};
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) continue;
  self.child = 0;
  const double wall = now_s() - begin;
  const Use more = leap_kill_children(pid, self.contained);
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime) + more.cpu_s;
  struct stat s = {0};
  fstat(out, &s);
  close(out);
  if (listener >= 0) close(listener);
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
  snprintf(numbers, sizeof numbers, "%d %.6f %.6f %ld", code, cpu, wall, rss_kb);
  answer_end(how, numbers);
}

static void fetch(View name) {
  char file[512], path[1100];
  snprintf(path, sizeof path, "%s/%s", self.ground.work_dir, leap_text(name, file, sizeof file));
  leap_begin_answer(&self.answer, "file");
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  struct stat s;
  if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode))
    leap_add_file(&self.answer, fd, s.st_size < kMaxFile ? (size_t)s.st_size : kMaxFile);
  else
    leap_add_field(&self.answer, "", 0);
  if (fd >= 0) close(fd);
  leap_send_answer(self.control, &self.answer);
}

/* A filter for this process and all its children. */
__attribute__((visibility("default"))) bool leap_filter_all(const char* filter, size_t size) {
  const struct sock_fprog program = {(unsigned short)(size / sizeof(struct sock_filter)),
                                     (struct sock_filter*)filter};
  return leap_load_filter(&program, -1);
}

/* Before leap_serve. */
__attribute__((visibility("default"))) void leap_set_up(int control, const char* work_dir, bool contained,
                                                        const char* filter, size_t filter_size,
                                                        unsigned own_pid, const char* shared) {
  self.control = control;
  self.contained = contained;
  leap_lay_ground(&self.ground, work_dir, contained || leap_confinement.on ? shared : "", filter, filter_size,
                  own_pid);
  self.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Serves the parent, as long as there is one. `kinds`: of children, with functions that are called in them.
 * `readers`: functions by names of blobs that are kept. */
__attribute__((visibility("default"))) void leap_serve(PyObject* kinds, PyObject* readers) {
  self.kinds = kinds;
  self.readers = readers;
  self.kept = PyDict_New();
  self.nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigaction(SIGINT, &ignore, &self.interrupt);
  leap_lay_out_memory();
  self.base_kb = leap_memory_kb(getpid(), false);
  leap_begin_answer(&self.answer, "hello");
  leap_add_field(&self.answer, "1", 1);
  leap_send_answer(self.control, &self.answer);
  while (true) {
    if (self.order_waits) {
      const Frame swap = self.request;
      self.request = self.order;
      self.order = swap;
      self.order_waits = false;
    } else if (!leap_read_frame(self.control, &self.request)) {
      leap_leave();
    }
    const View op = self.request.fields[0];
    if (leap_is(op, "start"))
      start(&self.request);
    else if (leap_is(op, "keep"))
      keep(leap_field(&self.request, 1), leap_field(&self.request, 2));
    else if (leap_is(op, "fetch"))
      fetch(leap_field(&self.request, 1));
  }
}
