#include "sandbox/filter.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

  void add(std::uint32_t action, int call) { seccomp_rule_add(context_, action, call, 0); }

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

namespace {

/// Landlock and a group of processes in place of namespaces.
void add_without_namespaces(Rules& rules, const ChildFilter& needs) {
  const auto refuse = SCMP_ACT_ERRNO(EPERM);
  // The whole tree stays in one process group and ends with its supervisor.
  for (const char* name : {"setsid", "setpgid"}) rules.add(refuse, name);
  rules.add(refuse, "prctl", masked(0, 0xffffffffU, PR_SET_PDEATHSIG));
  if (!needs.own_user)
    for (const char* name : {"clone", "fork", "vfork"}) rules.add(SCMP_ACT_NOTIFY, name);
  // Sockets with names reach services of the machine; a pair of connected ones reaches nobody.
  for (const char* name : {"socket", "connect", "bind", "listen"}) rules.add(SCMP_ACT_ERRNO(EACCES), name);
  for (unsigned type = 0; type < 16; ++type)
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
      rules.add(SCMP_ACT_ERRNO(EACCES), "socketpair", masked(1, 15, type));
  for (const char* name : {"shmctl", "semctl", "semop", "semtimedop", "msgctl", "msgsnd", "msgrcv",
                           "mq_unlink", "inotify_init", "inotify_init1", "inotify_add_watch"})
    rules.add(refuse, name);
  // Calls of later kernels, of which we know nothing.
  for (int call = 450; call < 512; ++call) rules.add(SCMP_ACT_ERRNO(ENOSYS), call);
  // Signals that a descriptor sends.
  for (const unsigned command : {F_SETOWN, F_SETOWN_EX, F_SETSIG})
    rules.add(refuse, "fcntl", masked(1, 0xffffffffU, command));
  for (const unsigned request : {0x8901U, 0x8902U})  // FIOSETOWN, SIOCSPGRP
    rules.add(refuse, "ioctl", masked(1, 0xffffffffU, request));
  if (needs.landlock_abi < 6) {
    for (const char* name : {"tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"})
      rules.add(refuse, name);
    for (const char* name : {"kill", "tgkill"}) rules.add(refuse, name, not_equal(0, kOwnPid));
  }
  if (needs.own_user) return;
  // Files of this user outside: Landlock does not see changes of their attributes.
  for (const char* name : {"chmod", "fchmodat", "chown", "lchown", "fchownat", "setxattr", "lsetxattr",
                           "removexattr", "lremovexattr", "utime", "utimes", "futimesat"})
    rules.add(refuse, name);
  rules.add(refuse, "utimensat", not_equal(1, 0));
  if (needs.landlock_abi >= 3) return;
  rules.add(refuse, "truncate");
  rules.add(SCMP_ACT_ERRNO(ENOSYS), "openat2");
  for (const unsigned access : {0, 3}) {
    rules.add(refuse, "open", masked(1, O_ACCMODE | O_TRUNC, access | O_TRUNC));
    rules.add(refuse, "openat", masked(2, O_ACCMODE | O_TRUNC, access | O_TRUNC));
  }
}

}  // namespace

std::string filter_for_children(const ChildFilter& needs) {
  Rules rules;
  for (const char* name :
       {"memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget", "mq_open", "personality",
        "setpriority", "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set"})
    rules.add(SCMP_ACT_ERRNO(EPERM), name);
  // Limits and processors of other processes.
  for (const char* name : {"prlimit64", "sched_setaffinity"})
    rules.add(SCMP_ACT_ERRNO(EPERM), name, not_equal(0, 0));
  // TIOCSTI and TIOCLINUX write into a terminal's input.
  rules.add(SCMP_ACT_ERRNO(EPERM), "ioctl", masked(1, 0xffffffffU, 0x5412));
  rules.add(SCMP_ACT_ERRNO(EPERM), "ioctl", masked(1, 0xffffffffU, 0x541c));
  if (needs.namespaces) rules.add(SCMP_ACT_ERRNO(EACCES), "socket", not_equal(0, AF_UNIX));
  rules.add(SCMP_ACT_ERRNO(EACCES), "socketpair", not_equal(0, AF_UNIX));
  if (!needs.may_fork) {
    rules.add(SCMP_ACT_ERRNO(EAGAIN), "fork");
    rules.add(SCMP_ACT_ERRNO(EAGAIN), "vfork");
    rules.add(SCMP_ACT_ERRNO(EAGAIN), "clone", masked(0, CLONE_THREAD, 0));
  }
  if (!needs.namespaces) add_without_namespaces(rules, needs);
  return rules.program();
}

}  // namespace leap::sandbox
