#include "sandbox/bwrap.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <initializer_list>

#include "sandbox/spawn.hpp"

namespace leap::sandbox {

std::atomic<int> nobody_works{-1};

namespace {

bool is_link(const char* path) {
  struct stat s {};
  return lstat(path, &s) == 0 && S_ISLNK(s.st_mode);
}

}  // namespace

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

}  // namespace leap::sandbox
