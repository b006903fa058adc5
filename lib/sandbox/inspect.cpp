#include "sandbox/inspect.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "sandbox/box.hpp"

namespace leap::sandbox {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return folder + "/" + program;
  return "not found";
}

std::string landlock() {
#ifdef SYS_landlock_create_ruleset
  constexpr unsigned kVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersion);
  if (version > 0) return "ABI " + std::to_string(version);
#endif
  return "no";
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

}  // namespace

Inspection inspect() {
  Inspection out;
  auto add = [&](const std::string& name, const std::string& value) {
    out.text += name + ":" + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + value + "\n";
  };
  const std::string actions = first_line("/proc/sys/kernel/seccomp/actions_avail");
  add("user", geteuid() == 0 ? "root (programs run as nobody)" : "not root");
  add("bubblewrap", on_path("bwrap"));
  add("setpriv", on_path("setpriv"));
  add("user namespaces", user_namespaces());
  add("seccomp", actions.empty() ? "no" : actions);
  add("landlock", landlock() + " (not used)");
  try {
    Box box(Settings{Mode::kBwrap, "", 16});
    add("python", said(box, {"/usr/bin/python3", "-I", "-S", "--version"}));
    add("c++", said(box, {"/usr/bin/g++", "--version"}));
    add("sandbox", "bubblewrap works");
    out.usable = true;
  } catch (const Error& error) {
    add("sandbox", std::string("none: ") + error.what());
  }
  add("leap-verify uses", out.usable ? "bwrap" : "nothing: it stops unless --sandbox none is given");
  return out;
}

}  // namespace leap::sandbox
