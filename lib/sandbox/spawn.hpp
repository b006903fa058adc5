/// Starts processes from a program that has threads.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace leap::sandbox {

/// Starts a process by posix_spawn from a thread that lives as long as the program (a sandbox dies with the
/// thread that started it). Every fd of `fds` becomes 3, 4, ..; the rest is closed. `preload`: one more
/// variable of its environment. Returns the pid, or throws Error.
pid_t spawn(const std::vector<std::string>& argv, const std::vector<int>& fds, int stderr_fd,
            const char* preload = nullptr);

/// Where PATH has a program; "" when it has not.
std::string on_path(const std::string& program);

}  // namespace leap::sandbox
