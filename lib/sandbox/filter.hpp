/// System call filters (BPF programs for seccomp) of a sandbox.
#pragma once

#include <string>

namespace leap::sandbox {

/// For every process of a sandbox: calls that reach out of it, look into other processes or load code into
/// the kernel end the process (SIGSYS); new namespaces and io_uring are refused.
std::string filter_for_all();

/// What a filter for children must make up for.
struct ChildFilter {
  bool may_fork = true;    ///< false where RLIMIT_NPROC does not hold (root): threads only
  bool namespaces = true;  ///< false: processes, sockets and IPC objects of the machine are in reach
  bool own_user = true;    ///< without namespaces: nothing else on the machine has the children's user id
  int landlock_abi = 0;    ///< without namespaces: what Landlock holds back
};

/// For candidates, on top: no memory outside the limits (memfd, System V), only local sockets, no hold on
/// other processes. Without namespaces also: none but connected pairs of sockets, no IPC, no leaving of the
/// process group, and no change to files by name that Landlock does not see.
std::string filter_for_children(const ChildFilter& needs);

/// In the filter for children this number stands for the process that it is loaded in, which alone it may
/// signal (where Landlock does not hold signals back).
constexpr unsigned kOwnPid = 0x5eaf00d5;

}  // namespace leap::sandbox
