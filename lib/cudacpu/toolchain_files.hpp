/// The files under include/ and runtime/, which the build puts into the program.
#pragma once

#include <vector>

#include "cudacpu/cudacpu.hpp"

namespace leap::cudacpu {

const std::vector<SourceFile>& embedded_files();

}  // namespace leap::cudacpu
