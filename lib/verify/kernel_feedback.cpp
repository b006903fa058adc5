#include "verify/kernel_feedback.hpp"

#include <cmath>
#include <cstdio>

#include "base/text.hpp"
#include "verify/words.hpp"

namespace leap::verify::kernel {
namespace {

std::string plain(std::string status) {
  for (char& c : status)
    if (c == '_') c = ' ';
  return status;
}

/// Three digits: enough to see what kind of difference it is. Text where JSON has no number.
Json rough(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return std::atof(text);
}

Json finite(double value) {
  return std::isfinite(value) ? rough(value) : Json(nullptr);
}

std::string feedback_of(const Check& check, const records::Code& code, const Outcome& outcome) {
  const Finding& failure = outcome.failure;
  if (failure.ok()) return "Passed all " + std::to_string(outcome.total) + " trials.";
  if (outcome.stage == "extract") return failure.note;
  if (outcome.stage == "compile") {
    if (failure.status == "interface_error") return failure.note;
    return "The program does not compile.\n" + failure.note;
  }
  if (failure.status == "suspect")
    return "Passed all " + std::to_string(outcome.total) + " trials, but " + failure.note + ".";
  if (!outcome.trial) return failure.note;
  std::string out =
      "Passed " + std::to_string(outcome.passed) + " of " + std::to_string(outcome.total) + " trials.\n";
  const std::string sizes = words_of(check.sizes_of_run(outcome.trial->number));
  const std::size_t number = outcome.trial->number, trial = check.trial_of_run(number);
  out += "Trial " + std::to_string(trial + 1) + (sizes.empty() ? "" : " (" + sizes + ")") +
         (trial == number ? "" : ", called again with other inputs") + ": " + plain(failure.status);
  if (!failure.note.empty()) out += ": " + failure.note;
  out += line_words(code, failure.line);
  return out + "\n" + outcome.hints;
}

}  // namespace

Json verdict_of(const Check& check, const records::Code& code, const Outcome& outcome) {
  const Finding& failure = outcome.failure;
  Json out;
  out["status"] = failure.status;
  out["stage"] = outcome.stage;
  out["passed"] = outcome.passed;
  out["total"] = outcome.total;
  out["ran"] = outcome.ran;
  out["feedback"] =
      shorten(strip(to_utf8(feedback_of(check, code, outcome))), kFeedbackBytes, " ... (shortened)");
  if (outcome.trial) {
    Json first = {{"case", check.trial_of_run(outcome.trial->number)}};
    if (failure.argument >= 0) {
      const auto argument = static_cast<std::size_t>(failure.argument);
      const auto& shape = outcome.trial->inputs[argument].shape;
      first["argument"] = check.arguments[argument].name;
      if (failure.comparison.mismatches > 0) {
        first["index"] = index_of(failure.comparison.first, shape);
        first["got"] = rough(failure.comparison.got);
        first["want"] = rough(failure.comparison.want);
      }
      first["shape"] = shape;
    }
    out["first_failure"] = first;
  }
  if (outcome.ran > 0) {
    out["max_abs_error"] = finite(outcome.max_abs_error);
    out["max_rel_error"] = finite(outcome.max_rel_error);
    out["mismatches"] = failure.comparison.mismatches;
  }
  if (!failure.sanitizer.empty()) out["sanitizer"] = failure.sanitizer;
  out["device"] = "cpu-emulation";
  out["cheat"] = outcome.cheat;
  out["flags"] = outcome.flags;
  out["measured"] = {{"compile_s", rounded(outcome.compile_s, 1e4)},
                     {"cpu_s", rounded(outcome.cpu_s, 1e4)},
                     {"wall_s", rounded(outcome.wall_s, 1e4)},
                     {"max_rss_mb", rounded(outcome.max_rss_mb, 10)},
                     {"speedup", nullptr}};
  return out;
}

void tell_begin(const Check& check, const records::Code& code, const sandbox::Limits& limits,
                std::string& out) {
  indent("program (cuda)", numbered(code.text), out);
  out += "  signature: " + check.signature + "\n";
  out += "  limits: " + seconds(limits.cpu_s) + " of CPU time and " + seconds(limits.wall_s) +
         " in all for the trials of a build, " + std::to_string(limits.memory_mb) + " MB of memory, " +
         std::to_string(limits.output_kb) + " kB of output\n";
}

void tell_compile(const std::string& build, const Program& program, std::string& out) {
  out += "  " + build + " build, compiled in " + seconds(rounded(program.compile_s, 1e3)) + ": " +
         (program.failed.empty() ? "ok" : program.failed) + "\n";
  if (!program.message.empty()) indent("compiler", program.message, out);
}

void tell_trial(const Check& check, const Trial& trial, const TrialRun& run, const Finding& finding,
                const records::Code& code, std::string& out) {
  out += "    trial " + std::to_string(check.trial_of_run(trial.number) + 1) + " (" +
         words_of(check.sizes_of_run(trial.number)) + (trial.is_benchmark ? ", the benchmark's" : "") +
         (trial.number < check.trials() ? "" : ", other inputs") + "): " + finding.status + ", " +
         std::to_string(run.launches) + " launches";
  if (finding.comparison.max_abs_error > 0) {
    char text[80];
    std::snprintf(text, sizeof text, ", largest error %.3g absolute, %.3g relative",
                  finding.comparison.max_abs_error, finding.comparison.max_rel_error);
    out += text;
  }
  out += "\n";
  if (!finding.note.empty()) out += "      " + finding.note + line_words(code, finding.line) + "\n";
  if (finding.comparison.mismatches > 0)
    out += "      got " + rough(finding.comparison.got).dump() + ", want " +
           rough(finding.comparison.want).dump() + "\n";
  if (run.host_wrote >= 0)
    out += "      `" + check.arguments[static_cast<std::size_t>(run.host_wrote)].name +
           "` was written by the host\n";
  for (const Report& report : run.reports)
    out += "      " + report.kind + (report.line > 0 ? " at line " + std::to_string(report.line) : "") +
           ": " + report.message + "\n";
}

}  // namespace leap::verify::kernel
