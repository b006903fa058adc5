/// All that leap-verify can be asked for, and the one call that does it.
#pragma once

#include <string>

#include "cli/stream.hpp"
#include "verify/verify.hpp"

namespace leap::verify {

struct ToolOptions {
  Options verify;
  bool lint_problem = false;
  bool check_sandbox = false;
  std::string explain;  ///< id of a record
};

void run(cli::Tool& tool, const cli::StreamOptions& stream, const ToolOptions& options);

}  // namespace leap::verify
