/// What one trial of a candidate is worth: a status with its cause.
#pragma once

#include <string>
#include <vector>

#include "verify/kernel_compare.hpp"
#include "verify/kernel_run.hpp"

namespace leap::verify::kernel {

struct Finding {
  std::string status = "ok";
  std::string note;       ///< of the cause, free of inputs, addresses and expected values
  int line = 0;           ///< of the candidate's text, 0 when unknown
  std::string sanitizer;  ///< name of what found it: "memory", "race", "barrier"
  int argument = -1;      ///< the output that differs
  Comparison comparison;  ///< of that output
  bool by_wall = false, cheat = false;

  bool ok() const { return status == "ok"; }
};

/// The process ended in this trial.
Finding judge_end(const TrialRun& run, const sandbox::Ended& ended, const sandbox::Limits& limits);

/// The trial was completed: launches, faults, races, inputs.
Finding judge_conduct(const Check& check, const Trial& trial, const TrialRun& run);

/// Its outputs against the reference's. `ok` also fills `comparison` with the largest errors.
Finding judge_outputs(const Check& check, const Trial& trial, const TrialRun& run,
                      const std::vector<std::string>& wanted);

/// Words that only inform, e.g. shared memory read before it is written.
std::string hints_of(const TrialRun& run);

}  // namespace leap::verify::kernel
