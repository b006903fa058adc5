#include "verify/kernel_findings.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "verify/words.hpp"

namespace leap::verify::kernel {
namespace {

/// Statuses of reports, the one that wins first.
constexpr const char* kRanked[] = {
    "compile_error", "interface_error", "launch_error", "device_fault", "out_of_bounds", "race", "deadlock"};

const Report* worst(const std::vector<Report>& reports) {
  for (const char* status : kRanked)
    for (const Report& report : reports)
      if (report.kind == status) return &report;
  return nullptr;
}

std::string sanitizer_of(const std::string& status) {
  if (status == "out_of_bounds" || status == "device_fault") return "memory";
  if (status == "race") return "race";
  return status == "deadlock" ? "barrier" : "";
}

Finding of_report(const Report& report) {
  Finding out;
  out.status = report.kind;
  out.line = report.line;
  out.sanitizer = sanitizer_of(report.kind);
  out.note = report.message;
  if (!report.kernel.empty())
    out.note += (out.note.empty() ? "in kernel `" : ", in kernel `") + report.kernel + "`";
  return out;
}

bool is_poison(const Trial& trial, Dtype type, const std::string& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (static_cast<unsigned char>(bytes[i]) != poison_byte(trial, type, i)) return false;
  return true;
}

/// Nothing was written to any output.
bool is_untouched(const Check& check, const Trial& trial, const TrialRun& run) {
  bool any = false;
  for (std::size_t i = 0; i < check.arguments.size(); ++i) {
    const Argument& argument = check.arguments[i];
    if (argument.role == Role::kInout && run.outputs[i] != trial.inputs[i].bytes) return false;
    if (argument.role == Role::kOut && !is_poison(trial, argument.type, run.outputs[i])) return false;
    any = any || (argument.role == Role::kOut && !run.outputs[i].empty());
  }
  return any;
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string list_text(const std::vector<std::int64_t>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

std::string difference_words(const Check& check, const Trial& trial, const Finding& finding) {
  const Argument& argument = check.arguments[static_cast<std::size_t>(finding.argument)];
  const auto& shape = trial.inputs[static_cast<std::size_t>(finding.argument)].shape;
  const Comparison& c = finding.comparison;
  std::string out = std::to_string(c.mismatches) + " of " + std::to_string(c.count) + " elements of `" +
                    argument.name + "` differ, the first at " + list_text(index_of(c.first, shape)) +
                    " of shape " + list_text(shape);
  if (c.nonfinite > 0)
    out += "; " + std::to_string(c.nonfinite) + " are NaN or infinite where a finite number is right";
  if (c.max_abs_error > 0)
    out += "; largest absolute error " + number_text(c.max_abs_error) + ", relative " +
           number_text(c.max_rel_error);
  if (is_float(argument.type))
    out += " (allowed: " + number_text(check.atol) + " + " + number_text(check.rtol) + " x the right value)";
  else
    out += " (values must be equal)";
  return out;
}

}  // namespace

Finding judge_end(const TrialRun& run, const sandbox::Ended& ended, const sandbox::Limits& limits) {
  using sandbox::End;
  Finding out;
  const bool bad_call = ended.end == End::kSignal && ended.code == SIGSYS;
  if (ended.forged || bad_call || ended.end == End::kStopped) {
    out.status = "sandbox_violation";
    out.cheat = true;
    out.note = bad_call ? "a forbidden system call" : "wrote to the harness's own channel";
    return out;
  }
  const bool killed_large =
      ended.end == End::kSignal && ended.code == SIGKILL && ended.max_rss_mb > 0.8 * limits.memory_mb;
  const bool no_memory =
      ended.end == End::kMemory || killed_large || ended.err.find("std::bad_alloc") != std::string::npos;
  if (ended.end == End::kOutput) {
    out.status = "output_limit";
    out.note = "more than " + std::to_string(limits.output_kb) + " kB were printed";
  } else if (ended.end == End::kCpu || ended.end == End::kWall) {
    out.status = "timeout";
    out.by_wall = ended.end == End::kWall;
    out.note = "the trials took more than " +
               (out.by_wall ? seconds(limits.wall_s) : seconds(limits.cpu_s) + " of CPU time");
  } else if (no_memory) {
    out.status = "out_of_memory";
    out.note = "more than " + std::to_string(limits.memory_mb) + " MB of memory";
  } else if (const Report* report = worst(run.reports)) {
    return of_report(*report);
  } else if (ended.end == End::kExit) {
    out.status = "early_exit";
    out.note = "the process ended before `solve` had returned";
  } else {
    out.status = "crash";
    out.note = "host code was ended by " + signal_name(ended.code) +
               (ended.code == SIGSEGV || ended.code == SIGBUS ? " (pointers are device pointers)" : "");
  }
  return out;
}

Finding judge_conduct(const Check& check, const Trial& trial, const TrialRun& run) {
  Finding out;
  const Report* report = worst(run.reports);
  if (report && report->kind == "launch_error") return of_report(*report);
  if (run.launches_of_none > 0 && !trial.empty) {
    out.status = "launch_error";
    out.note = "a launch with a grid of zero blocks";
    return out;
  }
  if (run.threw) {
    out.status = "crash";
    out.note = "`solve` threw an exception";
    return out;
  }
  if (report && report->kind == "device_fault") return of_report(*report);
  if (run.guard >= 0 && !(report && report->kind == "out_of_bounds")) {
    out.status = "out_of_bounds";
    out.sanitizer = "memory";
    out.note = std::string("memory ") + (run.guard_behind ? "behind" : "before") + " `" +
               check.arguments[static_cast<std::size_t>(run.guard)].name + "` was written";
    return out;
  }
  if (report) return of_report(*report);
  if (run.mutated >= 0) {
    const auto i = static_cast<std::size_t>(run.mutated);
    out.status = "input_mutated";
    out.note =
        "the input `" + check.arguments[i].name + "` was changed, at " +
        list_text(index_of(static_cast<std::size_t>(std::max(0L, run.mutated_at)), trial.inputs[i].shape));
  }
  return out;
}

Finding judge_outputs(const Check& check, const Trial& trial, const TrialRun& run,
                      const std::vector<std::string>& wanted) {
  Finding out;
  for (std::size_t i = 0; i < check.arguments.size(); ++i) {
    const Argument& argument = check.arguments[i];
    if (!argument.is_output()) continue;
    const Comparison found = compare(argument.type, run.outputs[i], wanted[i], check.rtol, check.atol);
    if (found.same()) {
      out.comparison.max_abs_error = std::max(out.comparison.max_abs_error, found.max_abs_error);
      out.comparison.max_rel_error = std::max(out.comparison.max_rel_error, found.max_rel_error);
      continue;
    }
    out.argument = static_cast<int>(i);
    out.comparison = found;
    if (is_untouched(check, trial, run)) {
      out.status = "no_output";
      out.note = "nothing was written to the outputs";
      return out;
    }
    char first[8] = {};
    std::memcpy(first, run.outputs[i].data() + found.first * size_of(argument.type), size_of(argument.type));
    const double got = number_at(argument.type, first);
    out.status = found.nonfinite > 0 && !(got - got == 0) ? "nonfinite" : "wrong_answer";
    out.note = difference_words(check, trial, out);
    return out;
  }
  for (const auto& [i, bytes] : run.again) {
    const Argument& argument = check.arguments[i];
    if (is_float(argument.type) && compare(argument.type, bytes, wanted[i], check.rtol, check.atol).same())
      continue;
    out.status = "nondeterministic";
    out.argument = static_cast<int>(i);
    out.note =
        "another run on the same inputs, with blocks in another order or after more calls, gave other values "
        "of `" +
        argument.name + "`";
    return out;
  }
  return out;
}

std::string hints_of(const TrialRun& run) {
  std::string out;
  for (const Report& report : run.reports) {
    if (std::any_of(std::begin(kRanked), std::end(kRanked),
                    [&](const char* one) { return report.kind == one; }))
      continue;
    if (out.size() < 400 && !report.message.empty())
      out += "Note: " + report.message +
             (report.line > 0 ? " (line " + std::to_string(report.line) + ")" : "") + "\n";
  }
  return out;
}

}  // namespace leap::verify::kernel
