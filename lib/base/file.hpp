/// Reading whole files.
#pragma once

#include <filesystem>
#include <string>

namespace leap {

/// The bytes of the file at `path`. Error, naming the path, when it cannot be read (a directory, say).
std::string read_file(const std::filesystem::path& path);

}  // namespace leap
