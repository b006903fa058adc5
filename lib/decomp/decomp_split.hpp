/// The one call of the tool decomp-split.
#pragma once

#include "cli/stream.hpp"
#include "decomp/split.hpp"

namespace leap::decomp {

/// Splits the decompositions of every record; the summary tells how many could be read.
void split_lines(cli::Tool& tool, const cli::StreamOptions& stream, const SplitOptions& options);

}  // namespace leap::decomp
