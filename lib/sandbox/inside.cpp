#include "sandbox/inside.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "sandbox/bwrap.hpp"
#include "sandbox/fd.hpp"
#include "sandbox/filter.hpp"
#include "sandbox/first_process.hpp"
#include "sandbox/landlock.hpp"
#include "sandbox/spawn.hpp"

namespace leap::sandbox {

namespace {

/// Waits for the first byte of the program's greeting; false where it ended.
bool greets(int control) {
  char first = 0;
  return wait_for_answer(control, 30) && recv(control, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

Inside start_confined(int file, int tmp_mb) {
  Inside inside;
  inside.work_dir = make_work_dir();
  const Fd stderr_fd = memory_file("");
  try {
    ChildFilter needs;
    needs.namespaces = false;
    needs.landlock_abi = landlock_abi();
    const Fd rules(landlock_rules(inside.work_dir, false)), own_rules(landlock_rules(inside.work_dir, true));
    const Fd children = memory_file(filter_for_children(needs)), own = memory_file(filter_for_all());
    auto [control, other] = socket_pair();
    inside.control = control.release();
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
  const std::string trouble = shorten(strip(to_utf8(content_of(stderr_fd.get(), 4096))), 300);
  throw Error("no sandbox: " + (trouble.empty() ? "the program does not answer" : trouble));
}

Inside start_file(Mode mode, int file, const std::string& argument, int tmp_mb) {
  const bool contained = mode != Mode::kNone, root = geteuid() == 0;
  std::string trouble;
  for (const bool as_nobody : {true, false}) {
    if (as_nobody && (!contained || !root || nobody_works == 0)) continue;
    auto [control, other] = socket_pair();
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
    trouble = shorten(strip(to_utf8(content_of(stderr_fd.get(), 4096))), 300);
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
  const Fd file = program_file(program.bytes);
  return start_file(mode, file.get(), program.argument, tmp_mb);
}

bool wait_for_answer(int control, double patience_s) {
  pollfd wait{control, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, static_cast<int>(patience_s * 1000));
  } while (ready < 0 && errno == EINTR);  // a signal that asks to finish: this line is finished first
  return ready > 0;
}

bool send_all(int control, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(control, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
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
