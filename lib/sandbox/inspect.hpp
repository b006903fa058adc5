/// What this machine offers for sandboxes, and which one programs would run in.
#pragma once

#include <string>

namespace leap::sandbox {

struct Inspection {
  bool usable = false;  ///< there is a sandbox for code that is not trusted
  std::string text;     ///< for people, one line a part
};

Inspection inspect();

}  // namespace leap::sandbox
