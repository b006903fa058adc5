#include "base/error.hpp"

#include <cerrno>
#include <cstring>

namespace leap {

void throw_errno(const std::string& what) {
  throw Error(what + ": " + std::strerror(errno));
}

}  // namespace leap
