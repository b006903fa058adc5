#include "verify/kernel_judge.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "verify/kernel_feedback.hpp"
#include "verify/runner.hpp"
#include "verify/words.hpp"

namespace leap::verify::kernel {

using cudacpu::Build;

namespace {

/// Calls of `solve` in one process, at least: a kernel that is right only a few times is found out.
constexpr int kCalls = 24;

/// The sandbox failed twice and is not to blame.
struct Lost {
  bool harness_works;
};

}  // namespace

/// One build of a candidate and what came of its trials.
struct Judge::Kind {
  Build build;
  std::size_t trials;  ///< runs the first ones
  unsigned order;
  Program program{};
  std::vector<TrialRun> runs{};
  std::vector<std::optional<Finding>> findings{};  ///< nothing: not run
  bool cut = false;  ///< by a limit, in the checked build: says nothing of the candidate

  const Finding* of(std::size_t trial) const {
    return trial < findings.size() && findings[trial] ? &*findings[trial] : nullptr;
  }
  std::size_t first_failure() const {
    std::size_t i = 0;
    while (i < findings.size() && (!findings[i] || findings[i]->ok())) ++i;
    return i;
  }
  bool failed() const { return first_failure() < findings.size(); }
};

struct Judge::Case {
  const records::Code& code;
  const sandbox::Limits& limits;
  Problem& problem;
  Outcome outcome{};
  std::string reference_trouble{};
};

Judge::Judge(Options options, const Cache* cache)
    : options_(std::move(options)),
      profile_(cudacpu::profile(options_.arch)),
      workshop_(options_.sandbox, cache),
      candidates_({options_.sandbox, "", 64, {}}),
      judges_({options_.sandbox, "", 64, {}}) {}

std::string Judge::stamp() const {
  return Workshop::version() + " " + options_.arch + " " + std::to_string(options_.order) + " " +
         std::to_string(options_.allow_host) + std::to_string(options_.all) + " " +
         std::to_string(options_.seed);
}

RunSettings Judge::settings_of(const Case& one, const Kind& kind) const {
  const Check& check = one.problem.check();
  RunSettings out;
  out.order = kind.order;
  out.workers = kind.build == Build::kFast ? options_.workers : 1;
  out.arch = profile_.cuda_arch / 10;
  out.memory_mb = one.limits.memory_mb;
  out.limits = one.limits;
  // Beside the candidate's own: the driver's copies, stacks of threads, the checker's record of every word.
  std::size_t largest = 0;
  for (std::size_t t = 0; t < kind.trials; ++t) largest = std::max(largest, one.problem.trial(t).bytes);
  out.limits.memory_mb += 256 + static_cast<int>(3 * largest >> 20);
  if (kind.build == Build::kChecked) out.limits.memory_mb *= 3;
  // Blocks in another order where there are many; more calls where they are cheap.
  out.more_calls.assign(check.trials(), 0);
  std::size_t large = 0, small = 0;
  for (std::size_t t = 0; t + 1 < check.trials(); ++t) {
    const Trial& trial = one.problem.trial(t);
    if (trial.empty) continue;
    if (one.problem.trial(large).empty || trial.bytes > one.problem.trial(large).bytes) large = t;
    if (one.problem.trial(small).empty || trial.bytes < one.problem.trial(small).bytes) small = t;
  }
  if (kind.build == Build::kFast) {
    out.more_calls[large] = 1;
    out.more_calls[small] = kCalls - static_cast<int>(std::min<std::size_t>(check.trials(), kCalls - 1));
  }
  return out;
}

/// Runs the trials from `first` on, in one process, and judges them.
void Judge::run_from(Case& one, Kind& kind, std::size_t first) {
  const Check& check = one.problem.check();
  std::vector<const Trial*> trials;
  for (std::size_t t = first; t < kind.trials; ++t) trials.push_back(&one.problem.trial(t));
  const RunSettings settings = settings_of(one, kind);
  std::size_t next = first;
  auto go_on = [&](const TrialRun& run) {
    const std::size_t t = next++;
    Finding finding = judge_conduct(check, *trials[t - first], run);
    // Where the reference is known, a wrong output ends the run here.
    const auto* wanted = finding.ok() ? one.problem.wanted(t) : nullptr;
    if (wanted) finding = judge_outputs(check, *trials[t - first], run, *wanted);
    return finding.ok() || options_.all;
  };
  Run run;
  for (int attempt = 0;; ++attempt) {
    Lease lease(candidates_);
    lease.keep(kind.program);
    next = first;
    try {
      run = run_trials(lease, check, trials, settings, go_on);
    } catch (const sandbox::Fault&) {
      lease.renew();
      if (attempt > 0) throw Lost{sandbox_works(candidates_)};
      continue;
    }
    one.outcome.cpu_s += run.ended.cpu_s;
    one.outcome.wall_s += run.ended.wall_s;
    one.outcome.max_rss_mb = std::max(one.outcome.max_rss_mb, run.ended.max_rss_mb);
    // A program that a loaded machine kept from running gets another chance.
    const bool starved = run.ended.end == sandbox::End::kWall && run.ended.cpu_s > 0.1 * one.limits.cpu_s;
    if (!starved || attempt > 0) break;
  }
  std::size_t done = first;
  for (const TrialRun& trial : run.trials) done += trial.done;
  one.reference_trouble = one.problem.find_wanted(done, workshop_, judges_);
  for (std::size_t i = 0; i < run.trials.size(); ++i) {
    const std::size_t t = first + i;
    Finding finding = run.trials[i].done ? judge_conduct(check, *trials[i], run.trials[i])
                                         : judge_end(run.trials[i], run.ended, one.limits);
    if (run.trials[i].done && finding.ok() && one.reference_trouble.empty())
      finding = judge_outputs(check, *trials[i], run.trials[i], *one.problem.wanted(t));
    kind.findings.resize(std::max(kind.findings.size(), t + 1));
    kind.findings[t] = std::move(finding);
    kind.runs.resize(std::max(kind.runs.size(), t + 1));
    kind.runs[t] = std::move(run.trials[i]);
    if (kind.findings[t]->ok() || options_.all) continue;
    return;
  }
}

/// Builds a candidate and runs its trials. False where it does not compile.
bool Judge::run_kind(Case& one, Kind& kind) {
  if (!build_and_run(one, kind, false)) return false;
  const bool reports = std::any_of(kind.runs.begin(), kind.runs.end(),
                                   [](const TrialRun& run) { return !run.reports.empty(); });
  if (kind.build != Build::kChecked || !reports) return true;
  // Once more with what lines need, which is too much for all that have nothing to report. It only explains.
  Kind explained{kind.build, kind.trials, kind.order};
  if (build_and_run(one, explained, true) && (explained.failed() || !kind.failed()))
    kind = std::move(explained);
  return true;
}

bool Judge::build_and_run(Case& one, Kind& kind, bool lines) {
  kind.program = workshop_.candidate(one.problem.check(), one.code.text, profile_, kind.build, lines);
  one.outcome.compile_s += kind.program.compile_s;
  if (!kind.program.failed.empty()) return false;
  // With --all, a process that ended in a trial is followed by another one.
  for (std::size_t first = 0; first < kind.trials;) {
    run_from(one, kind, first);
    if (!one.reference_trouble.empty()) return true;
    const std::size_t now = kind.findings.size();
    const bool limit =
        kind.findings.back()->status == "timeout" || kind.findings.back()->status == "out_of_memory";
    if (kind.build == Build::kChecked && limit) {
      // Checks cost time and memory that are not the candidate's.
      kind.findings.pop_back();
      kind.cut = true;
      return true;
    }
    if (now <= first || (kind.failed() && !options_.all) || kind.findings.back()->status == "timeout") break;
    first = now;
  }
  return true;
}

Json Judge::verdict(const Json& check_json, const records::Code& code, const sandbox::Limits& limits,
                    std::string_view id, bool& unsure, std::string* told) {
  const auto problem = problems_.get(check_json, options_.seed, id);
  const Check& check = problem->check();
  Case one{code, limits, *problem};
  Outcome& outcome = one.outcome;
  outcome.total = check.trials();
  if (strip(code.text).empty()) {
    outcome.failure.status = "no_code";
    outcome.failure.note = "No code was found in the answer.";
    outcome.stage = "extract";
    return verdict_of(check, code, outcome);
  }
  if (told) tell_begin(check, code, limits, *told);

  const unsigned other = options_.order == 1 ? 0 : 1;
  std::vector<Kind> kinds;
  kinds.push_back({Build::kChecked, std::min(check.sizes.size(), check.trials() - 1), other});
  kinds.push_back({Build::kFast, check.runs(), options_.order});
  const sandbox::Mode sandbox = sandbox::resolve(options_.sandbox);
  if (sandbox == sandbox::Mode::kLandlock) outcome.flags.push_back("landlock");
  if (sandbox == sandbox::Mode::kNone) outcome.flags.push_back("no_sandbox");
  try {
    for (Kind& kind : kinds) {
      const bool compiled = run_kind(one, kind);
      if (told) tell_compile(kind.build == Build::kFast ? "fast" : "checked", kind.program, *told);
      unsure = unsure || kind.program.unsure;
      if (!compiled) {
        // A failure that is not about the program's text may be the checked build's own.
        if (kind.build == Build::kChecked && kind.program.line == 0 &&
            kind.program.failed == "compile_error") {
          kind.cut = true;
          continue;
        }
        outcome.failure.status = kind.program.failed;
        outcome.failure.note = kind.program.message;
        outcome.failure.line = kind.program.line;
        outcome.stage = "compile";
        return verdict_of(check, code, outcome);
      }
      if (told)
        for (std::size_t t = 0; t < kind.findings.size(); ++t)
          if (kind.findings[t])
            tell_trial(check, problem->trial(t), kind.runs[t], *kind.findings[t], code, *told);
      if (!one.reference_trouble.empty()) break;
      if (kind.failed() && !options_.all) break;
    }
  } catch (const Lost& lost) {
    unsure = true;
    outcome.failure.status = lost.harness_works ? "crash" : "harness_error";
    outcome.failure.note = "the sandbox did not survive this program";
    outcome.stage = "run";
    outcome.flags.push_back("harness");
    return verdict_of(check, code, outcome);
  }
  if (!one.reference_trouble.empty()) {
    unsure = true;
    outcome.failure.status = "reference_error";
    outcome.failure.note = one.reference_trouble;
    outcome.stage = "run";
    return verdict_of(check, code, outcome);
  }

  // The first trial that failed in either run; within it the checked run explains best.
  std::size_t failed = check.runs();
  for (const Kind& kind : kinds)
    if (kind.failed()) failed = std::min(failed, kind.first_failure());
  for (std::size_t t = 0; t < check.runs(); ++t) {
    bool passed = true;
    for (const Kind& kind : kinds) {
      const Finding* finding = kind.of(t);
      if (!finding) continue;
      outcome.ran = std::max(outcome.ran, std::min(t + 1, check.trials()));
      passed = passed && finding->ok();
      unsure = unsure || finding->by_wall;
      outcome.max_abs_error = std::max(outcome.max_abs_error, finding->comparison.max_abs_error);
      outcome.max_rel_error = std::max(outcome.max_rel_error, finding->comparison.max_rel_error);
      outcome.cheat = outcome.cheat || finding->cheat;
      if (t == failed && !finding->ok() && outcome.failure.ok()) {
        outcome.failure = *finding;
        outcome.trial = &problem->trial(t);
        outcome.hints = hints_of(kind.runs[t]);
      }
    }
    if (passed && t < outcome.ran && (options_.all || t < failed)) ++outcome.passed;
  }
  const bool hard = failed < check.runs();
  if (hard) outcome.passed = std::min(outcome.passed, check.trials() - 1);
  outcome.stage = !hard || outcome.failure.argument >= 0 ? "compare" : "run";
  if (kinds[0].cut) outcome.flags.push_back("checks_incomplete");
  if (!hard) {
    bool launched = false, host = false, any = false;
    for (std::size_t t = 0; t < kinds[1].runs.size(); ++t) {
      if (problem->trial(t).empty) continue;
      any = true;
      launched = launched || kinds[1].runs[t].launches > 0;
      host = host || kinds[1].runs[t].host_wrote >= 0;
    }
    const bool no_launch = any && !launched;
    if (no_launch) outcome.flags.push_back("no_kernel_launch");
    if (host) outcome.flags.push_back("output_from_host");
    if ((no_launch || host) && !options_.allow_host) {
      outcome.failure.status = "suspect";
      outcome.failure.note = host ? "the host wrote an output: the work must be done by kernels"
                                  : "no kernel was launched: the work must be done by kernels";
    }
  }
  return verdict_of(check, code, outcome);
}

}  // namespace leap::verify::kernel
