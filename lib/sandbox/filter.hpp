/// System call filters (BPF programs for seccomp) of a sandbox.
#pragma once

#include <string>

namespace leap::sandbox {

/// For every process of a sandbox: calls that reach out of it, look into other processes or load code into
/// the kernel end the process (SIGSYS); new namespaces and io_uring are refused.
std::string filter_for_all();

/// For candidates, on top: no memory outside the limits (memfd, System V), only local sockets. Without
/// `may_fork` threads only (where RLIMIT_NPROC does not hold: for root).
std::string filter_for_children(bool may_fork);

}  // namespace leap::sandbox
