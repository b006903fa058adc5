#include "sandbox/landlock.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "base/error.hpp"

namespace leap::sandbox {
namespace {

// The same numbers on every architecture; this machine's headers may be older than its kernel.
constexpr long kCreateRuleset = 444, kAddRule = 445;
constexpr unsigned kVersion = 1;  // flag: only tell the version
constexpr int kPathBeneath = 1;   // kind of a rule
constexpr std::uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadDir = 8, kRemoveDir = 16;
constexpr std::uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kIoctlDevice = 1 << 15;
constexpr std::uint64_t kFirst = kRefer - 1;  // ABI 1
constexpr std::uint64_t kBindTcp = 1, kConnectTcp = 2;
constexpr std::uint64_t kAbstractSockets = 1, kSignals = 2;

struct RulesetAttributes {
  std::uint64_t files = 0, net = 0, scoped = 0;
};

struct __attribute__((packed)) PathAttributes {
  std::uint64_t allowed;
  std::int32_t parent;
};

}  // namespace

int landlock_abi() {
  const long version = syscall(kCreateRuleset, nullptr, 0, kVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

int landlock_rules(const std::string& work_dir, bool supervisor) {
  const int abi = landlock_abi();
  if (abi < 1) throw Error("the kernel has no Landlock (Linux 5.13), or it may not be used");
  RulesetAttributes handled;
  handled.files =
      kFirst | (abi >= 2 ? kRefer : 0) | (abi >= 3 ? kTruncate : 0) | (abi >= 5 ? kIoctlDevice : 0);
  if (abi >= 4) handled.net = kBindTcp | kConnectTcp;
  if (abi >= 6) handled.scoped = kAbstractSockets | kSignals;
  const std::size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const int rules = static_cast<int>(syscall(kCreateRuleset, &handled, size, 0));
  if (rules < 0) throw_errno("landlock_create_ruleset");
  fcntl(rules, F_SETFD, FD_CLOEXEC);
  auto allow = [&](const std::string& path, std::uint64_t rights) {
    const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return false;
    const PathAttributes rule{rights & handled.files, fd};
    const long failed = syscall(kAddRule, rules, kPathBeneath, &rule, 0);
    close(fd);
    return failed == 0;
  };
  const std::uint64_t read = kReadFile | kReadDir;
  for (const char* path : {"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin"})
    allow(path, read | kExecute);
  allow("/etc/alternatives", read);
  allow("/etc/ld.so.cache", kReadFile);
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    allow(path, kReadFile | kWriteFile | kTruncate);
  if (supervisor) {
    allow("/proc", read);
    allow(std::filesystem::path(work_dir).parent_path(), kRemoveDir);
  }
  if (!allow(work_dir, handled.files & ~kIoctlDevice)) {
    close(rules);
    throw Error("landlock: cannot use " + work_dir);
  }
  return rules;
}

}  // namespace leap::sandbox
