/// Older checkpoints of a run. They lie beside the newest: OUT.step-N for each, and `latest`, a symbolic link
/// to OUT.
#pragma once

#include <cstdint>
#include <filesystem>

namespace leap::training {

/// Where the checkpoint `old` is kept, which `out` replaced; empty when it is not to be kept: no whole
/// checkpoint, not older, or there already.
std::filesystem::path retired_path(const std::filesystem::path& out, const std::filesystem::path& old);

/// Removes the oldest ones beside `out` until `keep` checkpoints are left, `out` among them, and points the
/// link to `out`. Throws Error.
void retain(const std::filesystem::path& out, std::int64_t keep);

/// Throws UsageError where something else stands in the link's place.
void check_link(const std::filesystem::path& out);

}  // namespace leap::training
