#include "sandbox/first_process.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace leap::sandbox {
namespace {

constexpr unsigned kPids = 1 << 22;  ///< more than the largest pid

/// Are all ids of supervisors known to the kernel here, as users or groups?
bool has_ids(const char* map) {
  std::ifstream file(map);
  unsigned long inside = 0, outside = 0, count = 0;
  while (file >> inside >> outside >> count)
    if (inside <= kFirstUser && inside + count >= kFirstUser + kPids) return true;
  return false;
}

/// Kills what is left of a session whose leader, our child, has died but was not reaped: until then the
/// number is nobody else's.
void end_session(pid_t leader) {
  // Two looks without a find: one may miss what a process starts that ends before it is looked at.
  for (int vain = 0; vain < 2; ++vain) {
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
      if (kill(pid, SIGKILL) == 0) vain = -1;
    }
  }
}

}  // namespace

bool may_own_users() {
  return geteuid() == 0 && has_ids("/proc/self/uid_map") && has_ids("/proc/self/gid_map");
}

void end_first_process(pid_t pid, bool at_once, bool contained) {
  if (at_once) kill(pid, SIGKILL);
  siginfo_t info{};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int sleep_us = 200;
       waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
       sleep_us = std::min(sleep_us * 2, 20000)) {
    if (std::chrono::steady_clock::now() > deadline) kill(pid, SIGKILL);
    usleep(static_cast<useconds_t>(sleep_us));
  }
  if (!contained && (info.si_code != CLD_EXITED || info.si_status != 0)) end_session(pid);
  int status = 0;
  waitpid(pid, &status, 0);
}

std::string make_work_dir() {
  std::string path = (std::filesystem::temp_directory_path() / "leap-XXXXXX").string();
  if (!mkdtemp(path.data())) throw_errno(path);
  return path;
}

void remove_tree(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, options, ignored), end; !ignored && it != end;
       it.increment(ignored))
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) chmod(it->path().c_str(), 0700);
  fs::remove_all(folder, ignored);
}

}  // namespace leap::sandbox
