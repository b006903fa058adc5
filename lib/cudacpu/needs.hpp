/// What a source needs of the toolchain, read off its words: what most sources can do without is left out,
/// and when in doubt it is not.
#pragma once

#include <string_view>

namespace leap::cudacpu {

/// More of the standard library than <cmath>, <algorithm> and the like.
bool needs_all_headers(std::string_view source);

/// A look by the CUDA front end: something in it might be on the wrong side, or in a place where CUDA has no
/// such thing. False only when device code names nothing of the host's, and host code nothing of the
/// device's.
bool needs_front_end(std::string_view source);

}  // namespace leap::cudacpu
