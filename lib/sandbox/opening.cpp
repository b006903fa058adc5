#include <unistd.h>

#include <atomic>

#include "base/text.hpp"
#include "sandbox/box.hpp"
#include "sandbox/bwrap.hpp"
#include "sandbox/filter.hpp"
#include "sandbox/first_process.hpp"
#include "sandbox/landlock.hpp"
#include "sandbox/spawn.hpp"

namespace leap::sandbox {

extern const char kSupervisor[];
extern "C" const char leap_supervisor[], leap_supervisor_end[];  // the bytes of a shared object
extern "C" const char leap_supervisor_pyc[], leap_supervisor_pyc_end[];

namespace {

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kPreload = "/proc/self/fd/5";  ///< the supervisor's library, before Python starts

std::string python_bytes(std::string_view bytes) {
  return "bytes.fromhex('" + hex(bytes) + "')";
}

/// What `auto` has become for as long as the program runs: the first sandbox that opens decides. `mine`: the
/// mode of one that is open; kAuto asks.
Mode choice(Mode mine = Mode::kAuto) {
  static std::atomic<Mode> made{Mode::kAuto};
  Mode found = Mode::kAuto;
  return mine == Mode::kAuto ? made.load() : made.compare_exchange_strong(found, mine) ? mine : found;
}

constexpr unsigned kNobody = 65534;
constexpr int kAttempts = 2;  ///< to start a sandbox: it may be killed before it has said a word

/// Runs the script in file 3: its length, itself, parts. `-c` puts the current directory on Python's path,
/// where anything may lie.
std::vector<std::string> supervisor_command() {
  return {kPython, "-s", "-S", "-c",
          "import sys; sys.path[:] = [p for p in sys.path if p]; script = open(3, 'rb'); "
          "exec(compile(script.read(int(script.readline())), '<supervisor>', 'exec'))"};
}

/// A part is a source and a .pyc file made of it, which may be another interpreter's.
constexpr const char* kRunPart = R"(
def run_part(size, compiled_size):
    import marshal
    from _frozen_importlib_external import MAGIC_NUMBER
    source, compiled = script.read(size), script.read(compiled_size)
    known = compiled[:4] == MAGIC_NUMBER
    exec(marshal.loads(compiled[16:]) if known else compile(source, "<supervisor>", "exec"), globals())

)";

std::string call_of(const Python& part) {
  return "run_part(" + std::to_string(part.source.size()) + ", " + std::to_string(part.compiled.size()) +
         ")\n";
}

std::string supervisor_script(const std::string& head, const Settings& settings) {
  const Python supervisor{kSupervisor, bytes_between(leap_supervisor_pyc, leap_supervisor_pyc_end)};
  std::string script = head + kRunPart + call_of(supervisor) + settings.extension + "\n";
  for (const Python& module : settings.modules) script += call_of(module);
  script += "script.close()\ndel script, run_part\nmain()\n";
  script.insert(0, std::to_string(script.size()) + "\n");
  script.append(supervisor.source).append(supervisor.compiled);
  for (const Python& module : settings.modules) script.append(module.source).append(module.compiled);
  return script;
}

}  // namespace

Box::Box(const Settings& settings) {
  const bool free = settings.mode == Mode::kAuto;
  Mode mode = free ? choice() : settings.mode;
  open(settings, mode);
  if (!free || choice(mode_) == mode_) return;
  end(true);
  open(settings, choice());
}

void Box::open(const Settings& settings, Mode mode) {
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
}

bool Box::open_bwrap(const Settings& settings, std::string& trouble) {
  mode_ = Mode::kBwrap;
  const bool root = geteuid() == 0;
  // Root becomes nobody first; where nobody may not make namespaces, it stays root and children may not fork.
  for (const bool as_nobody : {true, false}) {
    if (as_nobody && (!root || nobody_works == 0)) continue;
    ChildFilter needs;
    needs.may_fork = as_nobody || !root;
    // The supervisor forks: where children must not, they load their filter themselves.
    const std::string filter_bytes = python_bytes(filter_for_children(needs));
    const std::string filters =
        "settings_filters = " + (needs.may_fork ? "b'', " + filter_bytes : filter_bytes + ", b''");
    std::vector<std::string> argv = bwrap_arguments(as_nobody, 6, settings.tmp_mb);
    argv.insert(argv.end() - 1, {"--setenv", "LD_PRELOAD", kPreload});
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
    work_dir_ = make_work_dir();
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
  work_dir_ = make_work_dir();
  const std::string filters = "settings_filters = b'', b''";
  if (greet(settings, supervisor_command(), {}, "0", filters, trouble)) return true;
  end(true);
  return false;
}

bool Box::greet(const Settings& settings, const std::vector<std::string>& argv, const std::vector<int>& fds,
                const std::string& kind, const std::string& filters, std::string& trouble) {
  auto [control, other] = socket_pair();
  control_ = control.release();
  std::string shared_names;
  if (mode_ != Mode::kNone)
    for (const auto& [name, fd] : settings.shared) shared_names += (shared_names.empty() ? "" : "|") + name;
  const std::string script = supervisor_script(
      "settings = ('" + (work_dir_.empty() ? "/tmp" : work_dir_) + "', '" + kind + "', '" + shared_names +
          "', " + std::to_string(settings.tmp_mb) + ", " + std::to_string(user_) + ", " +
          (user_ == kFirstUser ? "True" : "False") + ", " + std::to_string(kOwnPid) + ")\n" + filters + "\n",
      settings);
  const Fd script_fd = memory_file(script), stderr_fd = memory_file("");
  const Fd library_fd = memory_file(bytes_between(leap_supervisor, leap_supervisor_end));
  std::vector<int> all = {script_fd.get(), other.get(), library_fd.get()};
  all.insert(all.end(), fds.begin(), fds.end());
  try {
    static const std::string preload = std::string("LD_PRELOAD=") + kPreload;
    // Inside bubblewrap it is for Python alone.
    pid_ = spawn(argv, all, stderr_fd.get(), mode_ == Mode::kBwrap ? nullptr : preload.c_str());
    other.reset();
    const Fields hello = read_frame(30);
    if (hello.empty() || hello[0] != "hello") fault("no greeting");
    return true;
  } catch (const Error& error) {
    // The last line is the reason, where Python tells of an exception.
    const std::string said(strip(to_utf8(content_of(stderr_fd.get(), 4096))));
    trouble = said.empty() ? error.what() : shorten(said.substr(said.rfind('\n') + 1), 300);
  }
  hang_up();
  return false;
}

Mode resolve(Mode mode) {
  if (mode != Mode::kAuto) return mode;
  mode = choice();
  return mode != Mode::kAuto ? mode : Box(Settings{mode, "", 1}).mode();
}

void check(Mode mode) {
  Box box(Settings{mode, "", 1});
}

}  // namespace leap::sandbox
