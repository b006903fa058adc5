/// How kernels are judged.
#pragma once

#include <cstdint>
#include <string>

#include "sandbox/box.hpp"

namespace leap::verify::kernel {

struct Options {
  sandbox::Mode sandbox = sandbox::Mode::kAuto;
  std::string arch = "sm_80";
  unsigned order = 0;       ///< of threads and blocks: 0 forward, 1 reverse, else the seed of a shuffle
  bool allow_host = false;  ///< a kernel whose work the host did is ok, with a flag
  bool all = false;         ///< trials go on after a failure
  std::uint64_t seed = 0;
  unsigned workers = 1;  ///< threads of the system that run a candidate's blocks
};

}  // namespace leap::verify::kernel
