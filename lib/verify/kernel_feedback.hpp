/// Verdicts of kernels as records hold them, with feedback for the policy, and explanations for people.
#pragma once

#include <string>
#include <vector>

#include "records/code.hpp"
#include "verify/kernel_findings.hpp"

namespace leap::verify::kernel {

/// Everything a verdict says.
struct Outcome {
  Finding failure{};             ///< of the first trial that failed; or why there was none, or suspicion
  const Trial* trial = nullptr;  ///< the one that failed
  std::string stage, hints;
  std::size_t passed = 0, total = 0, ran = 0;
  double max_abs_error = 0, max_rel_error = 0;
  std::vector<std::string> flags{};
  bool cheat = false;
  double compile_s = 0, cpu_s = 0, wall_s = 0, max_rss_mb = 0;
};

Json verdict_of(const Check& check, const records::Code& code, const Outcome& outcome);

void tell_begin(const Check& check, const records::Code& code, const sandbox::Limits& limits,
                std::string& out);
void tell_compile(const std::string& build, const Program& program, std::string& out);
void tell_trial(const Check& check, const Trial& trial, const TrialRun& run, const Finding& finding,
                const records::Code& code, std::string& out);

}  // namespace leap::verify::kernel
