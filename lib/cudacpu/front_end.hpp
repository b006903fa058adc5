/// What only a CUDA front end sees: which function may call which, and what may stand where. clang++, which
/// Debian has, reads the candidate's own source against a few declarations of ours; of what it says only
/// errors of that kind about the candidate's own names count, because those declarations are not complete.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudacpu/cudacpu.hpp"

namespace leap::cudacpu {

/// Absolute, or empty when there is no clang++: the pass is left out then.
std::string front_end_compiler();

/// Files the pass needs, beside the toolchain's, in the toolchain's directory.
std::vector<SourceFile> front_end_files();

/// An argv, to run in the toolchain's directory. `source` is the candidate as it was written, named *.cu.
std::vector<std::string> front_end_command(const std::string& compiler, const std::string& source);

/// From what the command wrote to standard error.
std::vector<Finding> front_end_findings(std::string_view messages, std::string_view source);

}  // namespace leap::cudacpu
