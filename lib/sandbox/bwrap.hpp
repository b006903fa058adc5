/// How bubblewrap is called.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace leap::sandbox {

/// Its arguments up to the command. `as_nobody`: from root, first becomes nobody. `filter_fd` is the number
/// that the filter for all has there.
std::vector<std::string> bwrap_arguments(bool as_nobody, int filter_fd, int tmp_mb);

/// May nobody make namespaces? -1: not tried.
extern std::atomic<int> nobody_works;

}  // namespace leap::sandbox
