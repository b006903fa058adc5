/// What is said of a program's tests: the verdict, its feedback for the policy, and details for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jsonl/json.hpp"
#include "records/code.hpp"
#include "sandbox/box.hpp"
#include "verify/programs.hpp"
#include "verify/runner.hpp"

namespace leap::verify {

constexpr std::size_t kShown = 400;  ///< bytes of a value that is shown

/// At most `limit` bytes of `text`, marked where it is cut.
std::string shown(const std::string& text, std::size_t limit = kShown);

/// One case of a check, with what may be shown of it.
struct Case {
  bool open = false;  ///< public
  std::string input, want;
};

struct Outcome {
  Result result;
  Case test;
};

/// What a verdict is made of.
struct Report {
  const records::Code& code;
  const sandbox::Limits& limits;
  bool script = false;    ///< one test, of which feedback shows no values
  std::size_t total = 0;  ///< tests of the check
  double compile_s = 0;
  Json flags = Json::array();
};

/// The verdict of a program that was run. Feedback shows public cases, and of hidden ones what is no secret.
Json verdict_of(const Report& report, const std::vector<Outcome>& outcomes);

/// For people: how it was compiled, and each test.
void tell_compile(const std::string& language, const sandbox::Limits& limits, const Program& program,
                  const records::Code& code, std::string& out);
void tell_case(const Outcome& outcome, std::size_t index, std::string& out);

}  // namespace leap::verify
