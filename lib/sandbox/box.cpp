#include "sandbox/box.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/text.hpp"
#include "sandbox/filter.hpp"
#include "sandbox/landlock.hpp"

namespace leap::sandbox {

extern const char kSupervisor[];
extern "C" const char leap_supervisor[], leap_supervisor_end[];  // the bytes of a shared object

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxFrame = 256u << 20;
constexpr const char* kPython = "/usr/bin/python3";

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// A file in memory at offset 0.
Fd memory_file(std::string_view content) {
  Fd fd(memfd_create("leap", MFD_CLOEXEC));
  if (fd.get() < 0) throw_errno("memfd_create");
  while (!content.empty()) {
    const ssize_t n = write(fd.get(), content.data(), content.size());
    if (n < 0) throw_errno("memfd");
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string content_of(int fd) {
  std::string out(4096, '\0');
  const ssize_t n = pread(fd, out.data(), out.size(), 0);
  out.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return to_utf8(out);
}

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

pid_t spawn_here(const std::vector<std::string>& argv, const std::vector<int>& fds, int stderr_fd) {
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
  const char* environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8",
                               "PYTHONHASHSEED=0",   "HOME=/tmp",
                               "MALLOC_ARENA_MAX=1", "PYTHONDONTWRITEBYTECODE=1",
                               "TMPDIR=/tmp",        "OPENBLAS_NUM_THREADS=1",
                               "LD_BIND_NOW=1",      nullptr};
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

bool is_link(const char* path) {
  struct stat s {};
  return lstat(path, &s) == 0 && S_ISLNK(s.st_mode);
}

/// bwrap's arguments up to the command. `filter_fd` is the number the filter has there.
std::vector<std::string> bwrap_arguments(bool as_nobody, int filter_fd, int tmp_mb) {
  std::vector<std::string> out;
  if (as_nobody)
    out = {"setpriv",
           "--reuid=65534",
           "--regid=65534",
           "--clear-groups",
           "--inh-caps=-all",
           "--bounding-set=-all",
           "--"};
  auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
  // setpriv would look for it elsewhere: in the environment that it is given.
  const std::string bwrap = on_path("bwrap");
  add({bwrap.empty() ? "bwrap" : bwrap, "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534",
       "--hostname", "box"});
  add({"--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"});
  add({"--ro-bind", "/usr", "/usr"});
  for (const char* name : {"/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin"}) {
    if (is_link(name))
      add({"--symlink", std::filesystem::read_symlink(name).string(), name});
    else
      add({"--ro-bind-try", name, name});
  }
  add({"--ro-bind-try", "/etc/alternatives", "/etc/alternatives"});
  add({"--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"});
  add({"--proc", "/proc", "--dev", "/dev", "--size", "16777216", "--tmpfs", "/dev/shm", "--remount-ro",
       "/dev"});
  add({"--size", std::to_string(static_cast<long>(tmp_mb) << 20), "--tmpfs", "/tmp", "--remount-ro", "/"});
  add({"--chdir", "/tmp", "--seccomp", std::to_string(filter_fd), "--"});
  return out;
}

std::string python_bytes(std::string_view bytes) {
  static const char* const kDigits = "0123456789abcdef";
  std::string out = "bytes.fromhex('";
  for (unsigned char c : bytes) {
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
  return out + "')";
}

std::atomic<int> nobody_works{-1};  ///< -1: not tried

std::mutex choice_mutex;
Mode choice = Mode::kAuto;  ///< what `auto` has become

constexpr unsigned kFirstUser = 0x70000000;  ///< with a pid added, a user id that nothing else has
constexpr unsigned kPids = 1 << 22;          ///< more than the largest pid
constexpr unsigned kNobody = 65534;
constexpr int kAttempts = 2;  ///< to start a sandbox: it may be killed before it has said a word

/// Are all ids of supervisors known to the kernel here, as users or groups?
bool has_ids(const char* map) {
  std::ifstream file(map);
  unsigned long inside = 0, outside = 0, count = 0;
  while (file >> inside >> outside >> count)
    if (inside <= kFirstUser && inside + count >= kFirstUser + kPids) return true;
  return false;
}

/// May each sandbox without namespaces be a user of its own?
bool may_own_users() {
  return geteuid() == 0 && has_ids("/proc/self/uid_map") && has_ids("/proc/self/gid_map");
}

/// Kills what is left of a session whose leader, our child, has died but was not reaped: until then the
/// number is nobody else's.
void end_session(pid_t leader) {
  for (bool found = true; found;) {
    found = false;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 || pid == leader) continue;
      std::ifstream file(entry.path() / "stat");
      std::string line;
      std::getline(file, line);
      char state = 0;
      int parent = 0, group = 0, session = 0;
      const std::size_t at = line.rfind(')');
      if (at == std::string::npos ||
          std::sscanf(line.c_str() + at + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4)
        continue;
      if (session != leader || state == 'Z' || state == 'X') continue;
      found = kill(pid, SIGKILL) == 0 || found;
    }
  }
}

/// At the end of its socket a sandbox's first process ends its children and leaves. It is given two seconds,
/// unless `at_once`; children outlive one that was killed where there is no pid namespace.
void end_first_process(pid_t pid, bool at_once, bool contained) {
  if (at_once) kill(pid, SIGKILL);
  siginfo_t info{};
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  for (int sleep_us = 200;
       waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
       sleep_us = std::min(sleep_us * 2, 20000)) {
    if (Clock::now() > deadline) kill(pid, SIGKILL);
    usleep(static_cast<useconds_t>(sleep_us));
  }
  if (!contained && (info.si_code != CLD_EXITED || info.si_status != 0)) end_session(pid);
  int status = 0;
  waitpid(pid, &status, 0);
}

/// Also directories that a program has closed to its own user.
void remove_tree(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, options, ignored), end; !ignored && it != end;
       it.increment(ignored))
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) chmod(it->path().c_str(), 0700);
  fs::remove_all(folder, ignored);
}

/// The supervisor's program. `-c` puts the current directory on Python's path, where anything may lie.
std::vector<std::string> supervisor_command() {
  return {kPython, "-s", "-S", "-c",
          "import sys; sys.path[:] = [p for p in sys.path if p]; "
          "exec(compile(open(3, 'rb').read(), '<supervisor>', 'exec'))"};
}

}  // namespace

namespace {

/// Its length, then each field's length and bytes.
std::string frame_of(const Fields& fields) {
  std::string out(4, '\0');
  auto put = [&](std::size_t at, std::size_t size) {
    for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<char>(size >> (8 * i));
  };
  for (const std::string& field : fields) {
    const std::size_t at = out.size();
    out.resize(at + 4);
    put(at, field.size());
    out += field;
  }
  put(0, out.size() - 4);
  return out;
}

}  // namespace

pid_t spawn(const std::vector<std::string>& argv, const std::vector<int>& fds, int stderr_fd) {
  return starter().run([&] { return spawn_here(argv, fds, stderr_fd); });
}

Box::Box(const Settings& settings) {
  std::unique_lock lock(choice_mutex, std::defer_lock);
  Mode mode = settings.mode;
  if (mode == Mode::kAuto) {
    lock.lock();
    mode = choice;
    if (mode != Mode::kAuto) lock.unlock();
  }
  std::string trouble, more;
  bool works = false;
  if (mode == Mode::kBwrap || mode == Mode::kAuto) {
    works = open_bwrap(settings, trouble);
    more = "; install bubblewrap, python3 and setpriv (util-linux) and allow unprivileged user namespaces";
  }
  if (!works && (mode == Mode::kLandlock || mode == Mode::kAuto)) {
    std::string second;
    for (int attempt = 0; attempt < kAttempts && !works; ++attempt) works = open_landlock(settings, second);
    trouble += (trouble.empty() ? "" : "; ") + second;
    more += more.empty() ? "; use a kernel with Landlock" : ", or use a kernel with Landlock";
  }
  for (int attempt = 0; attempt < kAttempts && mode == Mode::kNone && !works; ++attempt)
    works = open_plain(settings, trouble);
  if (mode == Mode::kNone && !works) throw Error("cannot run " + std::string(kPython) + ": " + trouble);
  if (!works)
    throw Error("no sandbox: " + trouble + more + ", or pass --sandbox none for code that you trust");
  // The first sandbox decides, for as long as the program runs.
  if (mode == Mode::kAuto) choice = mode_;
}

bool Box::open_bwrap(const Settings& settings, std::string& trouble) {
  mode_ = Mode::kBwrap;
  const bool root = geteuid() == 0;
  // Root becomes nobody first; where nobody may not make namespaces, it stays root and children may not fork.
  for (const bool as_nobody : {true, false}) {
    if (as_nobody && (!root || nobody_works == 0)) continue;
    ChildFilter needs;
    needs.may_fork = as_nobody || !root;
    const std::string filters = "settings_filters = " + python_bytes(filter_for_children(needs)) + ", b''";
    std::vector<std::string> argv = bwrap_arguments(as_nobody, 6, settings.tmp_mb);
    const auto command = supervisor_command();
    argv.insert(argv.end(), command.begin(), command.end());
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Fd filter = memory_file(filter_for_all());  // is read by each
      std::vector<int> fds = {filter.get()};
      for (const auto& [name, fd] : settings.shared) fds.push_back(fd);
      if (!greet(settings, argv, fds, "1", filters, trouble)) continue;
      if (as_nobody) nobody_works = 1;
      shares_ = settings.shared.size();
      return true;
    }
    if (as_nobody && nobody_works == 1) break;
    if (as_nobody) nobody_works = 0;
  }
  return false;
}

bool Box::open_landlock(const Settings& settings, std::string& trouble) {
  mode_ = Mode::kLandlock;
  try {
    make_work_dir();
    ChildFilter needs;
    needs.namespaces = false;
    needs.own_user = may_own_users();
    needs.landlock_abi = landlock_abi();
    user_ = needs.own_user ? kFirstUser : geteuid() == 0 ? kNobody : 0;
    const Fd rules(landlock_rules(work_dir_, false)), own_rules(landlock_rules(work_dir_, true));
    std::vector<int> fds = {rules.get()};
    for (const auto& [name, fd] : settings.shared) fds.push_back(fd);
    fds.push_back(own_rules.get());
    const std::string filters = "settings_filters = " + python_bytes(filter_for_children(needs)) + ", " +
                                python_bytes(filter_for_all());
    if (greet(settings, supervisor_command(), fds, "2", filters, trouble)) {
      shares_ = settings.shared.size();
      return true;
    }
  } catch (const Error& error) {
    trouble = error.what();
  }
  end(true);
  return false;
}

bool Box::open_plain(const Settings& settings, std::string& trouble) {
  mode_ = Mode::kNone;
  make_work_dir();
  const std::string filters = "settings_filters = b'', b''";
  if (greet(settings, supervisor_command(), {}, "0", filters, trouble)) return true;
  end(true);
  return false;
}

void Box::make_work_dir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "leap-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw_errno(pattern);
  work_dir_ = pattern;
}

bool Box::greet(const Settings& settings, const std::vector<std::string>& argv, const std::vector<int>& fds,
                const std::string& kind, const std::string& filters, std::string& trouble) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  control_ = ends[0];
  Fd other(ends[1]);
  std::string shared_names;
  if (mode_ != Mode::kNone)
    for (const auto& [name, fd] : settings.shared) shared_names += (shared_names.empty() ? "" : "|") + name;
  const std::string script = "settings = ('" + (work_dir_.empty() ? "/tmp" : work_dir_) + "', '" + kind +
                             "', '" + shared_names + "', " + std::to_string(settings.tmp_mb) + ", " +
                             std::to_string(user_) + ", " + (user_ == kFirstUser ? "True" : "False") + ", " +
                             std::to_string(kOwnPid) + ")\n" + filters + "\n" + kSupervisor + "\n" +
                             settings.extension + "\nmain()\n";
  const Fd script_fd = memory_file(script), stderr_fd = memory_file("");
  const auto library_size = static_cast<std::size_t>(leap_supervisor_end - leap_supervisor);
  const Fd library_fd = memory_file({leap_supervisor, library_size});
  std::vector<int> all = {script_fd.get(), other.get(), library_fd.get()};
  all.insert(all.end(), fds.begin(), fds.end());
  try {
    pid_ = spawn(argv, all, stderr_fd.get());
    other.reset();
    const Fields hello = read_frame(30);
    if (hello.empty() || hello[0] != "hello") fault("no greeting");
    return true;
  } catch (const Error& error) {
    // The last line is the reason, where Python tells of an exception.
    const std::string said(strip(content_of(stderr_fd.get())));
    trouble = said.empty() ? error.what() : shorten(said.substr(said.rfind('\n') + 1), 300);
  }
  if (control_ >= 0) close(control_);
  control_ = -1;
  return false;
}

Box::~Box() {
  end(false);
}

void Box::end(bool at_once) {
  if (control_ >= 0) close(control_);
  control_ = -1;
  running_ = false;
  waiting_.clear();
  if (pid_ > 0) end_first_process(pid_, at_once, mode_ == Mode::kBwrap);
  pid_ = -1;
  if (!work_dir_.empty()) remove_tree(work_dir_);
  work_dir_.clear();
}

void Box::fault(const std::string& what) {
  end(true);
  throw Fault("sandbox: " + what);
}

void Box::write_frame(const Fields& fields) {
  if (control_ < 0) throw Fault("sandbox: it has ended");
  const std::string body = frame_of(fields);
  std::string_view rest = body;
  const auto deadline = Clock::now() + std::chrono::duration<double>(patience_s_);
  while (!rest.empty()) {
    const ssize_t n = ::send(control_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{control_, POLLOUT, 0};
      if (Clock::now() > deadline) fault("it does not read");
      poll(&wait, 1, 1000);
    } else if (errno != EINTR) {
      fault("it has ended");
    }
  }
}

Fields Box::read_frame(double timeout_s) {
  if (control_ < 0) throw Fault("sandbox: it has ended");
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  auto fill = [&](char* at, std::size_t size) {
    while (size > 0) {
      const ssize_t n = recv(control_, at, size, MSG_DONTWAIT);
      if (n > 0) {
        at += n;
        size -= static_cast<std::size_t>(n);
      } else if (n == 0) {
        fault("it has ended");
      } else if (errno == EAGAIN) {
        pollfd wait{control_, POLLIN, 0};
        if (Clock::now() > deadline) fault("no answer in time");
        poll(&wait, 1, 1000);
      } else if (errno != EINTR) {
        fault("it has ended");
      }
    }
  };
  auto number = [](const char* at) {
    std::size_t size = 0;
    for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(at[i]);
    return size;
  };
  char head[4];
  fill(head, 4);
  const std::size_t size = number(head);
  if (size > kMaxFrame) fault("a message too long");
  std::string body(size, '\0');
  fill(body.data(), size);
  Fields fields;
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = at + 4 <= size ? number(body.data() + at) : size;
    if (at + 4 + length > size) fault("a broken message");
    fields.push_back(body.substr(at + 4, length));
    at += 4 + length;
  }
  return fields;
}

void Box::keep(const std::string& name, const std::string& bytes) {
  write_frame({"keep", name, bytes});
}

void Box::start(const Child& child) {
  const Limits& limits = child.limits;
  char numbers[200];
  std::snprintf(numbers, sizeof numbers, "%.6f %.6f %ld %d %ld %d %d %d", limits.cpu_s, limits.wall_s,
                static_cast<long>(limits.memory_mb) << 10, limits.output_kb,
                static_cast<long>(limits.file_mb) << 10, limits.processes, child.messages,
                limits.reserves ? 1 : 0);
  std::string argv;
  for (const std::string& argument : child.arguments) {
    if (!argv.empty()) argv += '\0';
    argv += argument;
  }
  Fields fields = {"start", child.kind, numbers, child.input, argv, child.payload};
  fields.push_back(child.message.empty() ? "" : frame_of(child.message));
  for (const auto& [name, content] : child.files) {
    fields.push_back(name);
    fields.push_back(content);
  }
  const double patience_s = limits.wall_s * 1.5 + 30;
  if (running_) {
    write_frame(fields);
    waiting_.push_back(patience_s);
    return;
  }
  patience_s_ = 60;
  write_frame(fields);
  patience_s_ = patience_s;
  running_ = true;
}

bool Box::next(Fields& message) {
  if (!running_) return false;
  message = read_frame(patience_s_);
  if (message.empty()) fault("an empty message");
  if (message[0] == "msg") {
    message.erase(message.begin());
    return true;
  }
  if (message[0] != "ended" || message.size() != 5) fault("a message of an unknown kind");
  running_ = !waiting_.empty();
  if (running_) {
    patience_s_ = waiting_.front();
    waiting_.pop_front();
  }
  ended_ = {};
  static const std::pair<const char*, End> kEnds[] = {
      {"exit", End::kExit},     {"signal", End::kSignal}, {"cpu", End::kCpu},        {"wall", End::kWall},
      {"memory", End::kMemory}, {"output", End::kOutput}, {"stopped", End::kStopped}};
  bool known = false;
  for (const auto& [name, end] : kEnds)
    if (message[1] == name) {
      ended_.end = end;
      known = true;
    }
  if (!known) fault("its files cannot be removed");
  double rss_kb = 0;
  int forged = 0;
  std::sscanf(message[2].c_str(), "%d %lf %lf %lf %d", &ended_.code, &ended_.cpu_s, &ended_.wall_s, &rss_kb,
              &forged);
  ended_.max_rss_mb = rss_kb / 1024;
  ended_.forged = forged != 0;
  ended_.out = std::move(message[3]);
  ended_.err = std::move(message[4]);
  return false;
}

void Box::send(const Fields& message) {
  Fields fields = {"msg"};
  fields.insert(fields.end(), message.begin(), message.end());
  write_frame(fields);
}

void Box::close_input() {
  write_frame({"close"});
}

const Ended& Box::stop() {
  while (!waiting_.empty()) wait();
  if (running_) write_frame({"stop"});
  return wait();
}

const Ended& Box::wait() {
  Fields message;
  while (next(message)) {
  }
  return ended_;
}

std::string Box::fetch(const std::string& name) {
  write_frame({"fetch", name});
  Fields answer = read_frame(60);
  if (answer.size() != 2 || answer[0] != "file") fault("no file");
  return std::move(answer[1]);
}

std::string on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return folder + "/" + program;
  return "";
}

Mode resolve(Mode mode) {
  if (mode != Mode::kAuto) return mode;
  {
    std::lock_guard lock(choice_mutex);
    if (choice != Mode::kAuto) return choice;
  }
  return Box(Settings{mode, "", 1}).mode();
}

void check(Mode mode) {
  Box box(Settings{mode, "", 1});
}

namespace {

/// Waits for the first byte of the program's greeting; false where it ended.
bool greets(int control) {
  pollfd wait{control, POLLIN, 0};
  char first = 0;
  int ready = 0;
  do {
    ready = poll(&wait, 1, 30000);
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && recv(control, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

Inside start_confined(int file, int tmp_mb) {
  Inside inside;
  inside.work_dir = (std::filesystem::temp_directory_path() / "leap-XXXXXX").string();
  if (!mkdtemp(inside.work_dir.data())) throw_errno(inside.work_dir);
  const Fd stderr_fd = memory_file("");
  try {
    ChildFilter needs;
    needs.namespaces = false;
    needs.landlock_abi = landlock_abi();
    const Fd rules(landlock_rules(inside.work_dir, false)), own_rules(landlock_rules(inside.work_dir, true));
    const Fd children = memory_file(filter_for_children(needs)), own = memory_file(filter_for_all());
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
    inside.control = ends[0];
    const Fd other(ends[1]);
    inside.pid =
        spawn({"/proc/self/fd/5", "2", inside.work_dir, std::to_string(kFirstUser),
               std::to_string(static_cast<long>(tmp_mb) << 10)},
              {other.get(), children.get(), file, rules.get(), own.get(), own_rules.get()}, stderr_fd.get());
  } catch (const Error&) {
    end_inside(inside);
    throw;
  }
  if (greets(inside.control)) return inside;
  end_inside(inside);
  const std::string trouble = shorten(strip(content_of(stderr_fd.get())), 300);
  throw Error("no sandbox: " + (trouble.empty() ? "the program does not answer" : trouble));
}

Inside start_file(Mode mode, int file, const std::string& argument, int tmp_mb) {
  const bool contained = mode != Mode::kNone, root = geteuid() == 0;
  std::string trouble;
  for (const bool as_nobody : {true, false}) {
    if (as_nobody && (!contained || !root || nobody_works == 0)) continue;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
    Fd control(ends[0]), other(ends[1]);
    const Fd stderr_fd = memory_file(""), filter = memory_file(filter_for_all());
    ChildFilter needs;
    needs.may_fork = as_nobody || !root;
    const Fd children = memory_file(contained ? filter_for_children(needs) : "");
    std::vector<std::string> argv;
    if (contained) argv = bwrap_arguments(as_nobody, 5, tmp_mb);
    argv.insert(argv.end(), {"/proc/self/fd/6", argument});
    Inside inside;
    try {
      inside.pid = spawn(argv, {other.get(), children.get(), filter.get(), file}, stderr_fd.get());
    } catch (const Error& error) {
      trouble = error.what();
      continue;
    }
    other.reset();
    if (greets(control.get())) {
      if (as_nobody) nobody_works = 1;
      inside.control = control.release();
      return inside;
    }
    kill(inside.pid, SIGKILL);
    waitpid(inside.pid, nullptr, 0);
    trouble = shorten(strip(content_of(stderr_fd.get())), 300);
  }
  throw Error("no sandbox: " + (trouble.empty() ? "the program does not answer" : trouble));
}

}  // namespace

Inside start_inside(Mode mode, const std::string& program, int tmp_mb) {
  const Fd file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw_errno(program);
  if (resolve(mode) == Mode::kLandlock) return start_confined(file.get(), tmp_mb);
  return start_file(mode, file.get(), mode == Mode::kNone ? "0" : "1", tmp_mb);
}

Inside start_inside(Mode mode, const Image& program, int tmp_mb) {
  Fd writable = memory_file(program.bytes);
  // What is open for writing is not run.
  const Fd file(open(("/proc/self/fd/" + std::to_string(writable.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw_errno("memfd");
  writable.reset();
  return start_file(mode, file.get(), program.argument, tmp_mb);
}

void end_inside(Inside& inside) {
  if (inside.control >= 0) close(inside.control);
  if (inside.pid > 0) end_first_process(inside.pid, false, inside.work_dir.empty());
  if (!inside.work_dir.empty()) remove_tree(inside.work_dir);
  inside = {};
}

bool has_inside(Mode mode) {
  return resolve(mode) != Mode::kLandlock || may_own_users();
}

}  // namespace leap::sandbox
