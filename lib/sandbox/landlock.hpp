/// Landlock: rules that a process puts on itself and all that it starts, without any privilege or namespace.
#pragma once

#include <string>

namespace leap::sandbox {

/// The version that this machine's kernel has (1: files; 3: truncation; 4: TCP; 6: signals and abstract
/// sockets); 0 without Landlock.
int landlock_abi();

/// File descriptor of rules: /usr and what belongs to it can be read and run, a few devices used, `work_dir`
/// written; no TCP, no signals to processes outside. A `supervisor` also reads /proc, and can remove the
/// directory in the end. Error where there is no Landlock.
int landlock_rules(const std::string& work_dir, bool supervisor);

}  // namespace leap::sandbox
