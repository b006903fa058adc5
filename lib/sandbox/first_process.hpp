/// First processes of sandboxes, where they are not bubblewrap's alone to look after: their users, their
/// directories, their end.
#pragma once

#include <sys/types.h>

#include <string>

namespace leap::sandbox {

constexpr unsigned kFirstUser = 0x70000000;  ///< with a pid added, a user id that nothing else has

/// May each sandbox without namespaces be a user of its own?
bool may_own_users();

/// At the end of its socket a sandbox's first process ends its children and leaves. It is given two seconds,
/// unless `at_once`; children outlive one that was killed where there is no pid namespace.
void end_first_process(pid_t pid, bool at_once, bool contained);

/// A new directory for a sandbox's files. Error when there is none.
std::string make_work_dir();

/// Also directories that a program has closed to its own user.
void remove_tree(const std::string& folder);

}  // namespace leap::sandbox
