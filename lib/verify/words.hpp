/// Words of feedback and of explanations that all checks share.
#pragma once

#include <string>

#include "records/code.hpp"
#include "sandbox/box.hpp"

namespace leap::verify {

inline constexpr std::size_t kFeedbackBytes = 2000;

/// "1.5 s".
std::string seconds(double s);
/// "SIGSEGV".
std::string signal_name(int number);
/// To the nearest 1 / parts.
double rounded(double value, double parts);
/// " at line 3: `x = 1;`", of the candidate's own text; "" when the line is unknown or not its own.
std::string line_words(const records::Code& code, int line);
/// `title`, then `text` with every line moved in.
void indent(const std::string& title, const std::string& text, std::string& out);
/// The text with line numbers.
std::string numbered(const std::string& text);

}  // namespace leap::verify
