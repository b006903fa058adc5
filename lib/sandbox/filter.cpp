#include "sandbox/filter.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/error.hpp"

namespace leap::sandbox {
namespace {

class Rules {
 public:
  Rules() : context_(seccomp_init(SCMP_ACT_ALLOW)) {
    if (!context_) throw Error("seccomp: cannot make a filter");
  }
  ~Rules() { seccomp_release(context_); }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  /// Calls that this machine does not know are left out.
  void add(std::uint32_t action, const char* name) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call != __NR_SCMP_ERROR) seccomp_rule_add(context_, action, call, 0);
  }
  void add(std::uint32_t action, const char* name, scmp_arg_cmp condition) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call != __NR_SCMP_ERROR) seccomp_rule_add_array(context_, action, call, 1, &condition);
  }

  std::string program() const {
    const int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0) throw_errno("memfd_create");
    std::string out;
    if (seccomp_export_bpf(context_, fd) == 0) {
      out.resize(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)));
      const ssize_t got = pread(fd, out.data(), out.size(), 0);
      if (got != static_cast<ssize_t>(out.size())) out.clear();
    }
    close(fd);
    if (out.empty()) throw Error("seccomp: cannot export a filter");
    return out;
  }

 private:
  scmp_filter_ctx context_;
};

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

scmp_arg_cmp not_equal(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}

}  // namespace

std::string filter_for_all() {
  Rules rules;
  for (const char* name : {"ptrace",
                           "process_vm_readv",
                           "process_vm_writev",
                           "kcmp",
                           "mount",
                           "umount2",
                           "pivot_root",
                           "move_mount",
                           "fsopen",
                           "fsconfig",
                           "fsmount",
                           "fspick",
                           "open_tree",
                           "mount_setattr",
                           "unshare",
                           "setns",
                           "bpf",
                           "perf_event_open",
                           "userfaultfd",
                           "keyctl",
                           "add_key",
                           "request_key",
                           "kexec_load",
                           "kexec_file_load",
                           "init_module",
                           "finit_module",
                           "delete_module",
                           "reboot",
                           "swapon",
                           "swapoff",
                           "open_by_handle_at",
                           "name_to_handle_at",
                           "acct",
                           "quotactl",
                           "syslog",
                           "iopl",
                           "ioperm",
                           "pidfd_getfd",
                           "process_madvise",
                           "chroot",
                           "settimeofday",
                           "clock_settime",
                           "fanotify_init",
                           "lookup_dcookie",
                           "vhangup",
                           "nfsservctl",
                           "modify_ldt",
                           "uselib"})
    rules.add(SCMP_ACT_KILL_PROCESS, name);
  for (const char* name : {"io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"})
    rules.add(SCMP_ACT_ERRNO(ENOSYS), name);
  for (const int flag :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP})
    rules.add(SCMP_ACT_KILL_PROCESS, "clone",
              masked(0, static_cast<unsigned>(flag), static_cast<unsigned>(flag)));
  return rules.program();
}

std::string filter_for_children(bool may_fork) {
  Rules rules;
  for (const char* name : {"memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget", "mq_open",
                           "personality", "setpriority", "sched_setscheduler", "sched_setattr", "ioprio_set"})
    rules.add(SCMP_ACT_ERRNO(EPERM), name);
  // TIOCSTI and TIOCLINUX write into a terminal's input.
  rules.add(SCMP_ACT_ERRNO(EPERM), "ioctl", masked(1, 0xffffffffU, 0x5412));
  rules.add(SCMP_ACT_ERRNO(EPERM), "ioctl", masked(1, 0xffffffffU, 0x541c));
  rules.add(SCMP_ACT_ERRNO(EACCES), "socket", not_equal(0, AF_UNIX));
  rules.add(SCMP_ACT_ERRNO(EACCES), "socketpair", not_equal(0, AF_UNIX));
  if (!may_fork) {
    rules.add(SCMP_ACT_ERRNO(EAGAIN), "fork");
    rules.add(SCMP_ACT_ERRNO(EAGAIN), "vfork");
    rules.add(SCMP_ACT_ERRNO(EAGAIN), "clone", masked(0, CLONE_THREAD, 0));
  }
  return rules.program();
}

}  // namespace leap::sandbox
