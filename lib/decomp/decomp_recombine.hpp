/// The one call of the tool decomp-recombine.
#pragma once

#include "cli/stream.hpp"
#include "decomp/recombine.hpp"

namespace leap::decomp {

/// Recombines the decompositions of every record; the summary holds the figures of diagnostics.hpp, the
/// programs, and what was run.
void recombine_lines(cli::Tool& tool, const cli::StreamOptions& stream, const RecombineOptions& options);

}  // namespace leap::decomp
