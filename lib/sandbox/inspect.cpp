#include "sandbox/inspect.hpp"

#include <unistd.h>

#include <fstream>

#include "base/text.hpp"
#include "sandbox/box.hpp"
#include "sandbox/landlock.hpp"
#include "sandbox/spawn.hpp"

namespace leap::sandbox {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string found(const std::string& program) {
  const std::string path = on_path(program);
  return path.empty() ? "not found" : path;
}

std::string landlock() {
  const int abi = landlock_abi();
  if (abi == 0) return "no";
  std::string out = "ABI " + std::to_string(abi) + ": files";
  if (abi >= 4) out += ", TCP";
  return out + (abi >= 6 ? ", signals" : "; the filter refuses the rest");
}

std::string user_namespaces() {
  const std::string most = first_line("/proc/sys/user/max_user_namespaces");
  const std::string allowed = first_line("/proc/sys/kernel/unprivileged_userns_clone");
  if (most.empty() || most == "0") return "no";
  return allowed == "0" ? "for root only" : "yes, at most " + most;
}

/// First line of what a program says in the sandbox.
std::string said(Box& box, const std::vector<std::string>& arguments) {
  Child child;
  child.kind = "binary";
  child.arguments = arguments;
  box.start(child);
  const Ended& ended = box.wait();
  if (ended.end != End::kExit || ended.code != 0) return "does not run";
  return std::string(strip(to_utf8(ended.out.substr(0, ended.out.find('\n')))));
}

/// What a kind of sandbox gives here, or why it cannot be had.
bool works(Mode mode, const std::string& gives, std::string& line) {
  try {
    Box box(Settings{mode, "", 16});
    const std::string python = said(box, {"/usr/bin/python3", "-I", "-S", "--version"});
    line = "works: " + gives + "; " + python + ", " + said(box, {"/usr/bin/g++", "--version"});
    return true;
  } catch (const Error& error) {
    line = std::string("no: ") + error.what();
    return false;
  }
}

}  // namespace

Inspection inspect() {
  Inspection out;
  auto add = [&](const std::string& name, const std::string& value) {
    out.text += name + ":" + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + value + "\n";
  };
  const bool root = geteuid() == 0;
  const std::string actions = first_line("/proc/sys/kernel/seccomp/actions_avail");
  add("user", root ? "root (programs run as somebody else)" : "not root");
  add("bubblewrap", found("bwrap"));
  add("setpriv", root ? found("setpriv") : "not needed");
  add("user namespaces", user_namespaces());
  add("seccomp", actions.empty() ? "no" : actions);
  add("Landlock", landlock());
  std::string bwrap, confined;
  const bool first = works(Mode::kBwrap,
                           "own files, processes, network, users and IPC; system calls filtered; "
                           "exact limits on processes and disk",
                           bwrap);
  const bool second = works(
      Mode::kLandlock,
      std::string("files, signals and TCP held back by Landlock, other sockets and IPC by the filter; ") +
          (root ? "a user of its own" : "each new process is asked for") + "; disk use is looked at",
      confined);
  add("--sandbox bwrap", bwrap);
  add("--sandbox landlock", confined);
  out.usable = first || second;
  add("auto takes", first    ? "bwrap: the strongest that works"
                    : second ? "landlock: bwrap does not work, and this does; verdicts have the flag landlock"
                             : "nothing: leap-verify stops unless --sandbox none is given");
  return out;
}

}  // namespace leap::sandbox
