/// SHA-256 (FIPS 180-4), to name things by their content.
#pragma once

#include <string>
#include <string_view>

namespace leap {

/// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace leap
