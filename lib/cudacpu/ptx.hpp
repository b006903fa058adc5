/// Inline PTX of the common kinds as C++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leap::cudacpu {

struct Operand {
  std::string constraint;  ///< "=r", "l", "+f"
  std::string expression;
};

/// The C++ expression or block that does what `assembly` (the literal's text) does. False when it is not
/// covered, with the instruction in `feature`.
bool translate_ptx(std::string_view assembly, const std::vector<Operand>& outputs,
                   const std::vector<Operand>& inputs, std::string& text, std::string& feature);

}  // namespace leap::cudacpu
