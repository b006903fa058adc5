#include "verify/report.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "verify/words.hpp"

namespace leap::verify {

std::string shown(const std::string& text, std::size_t limit) {
  const std::string clean = to_utf8(text.substr(0, limit + 4));
  if (text.size() <= limit) return clean;
  return shorten(clean, limit, "") + " ... (shortened, " + std::to_string(text.size()) + " bytes in all)";
}

namespace {

std::string describe(const Outcome& outcome, const records::Code& code, const sandbox::Limits& limits) {
  const Result& r = outcome.result;
  if (r.status == "wrong_answer") return r.note.empty() ? "wrong answer" : "wrong answer (" + r.note + ")";
  if (r.status == "timeout")
    return r.by_wall ? "time limit exceeded (" + seconds(limits.wall_s) + ")"
                     : "time limit exceeded (" + seconds(limits.cpu_s) + " of CPU time)";
  if (r.status == "out_of_memory")
    return "memory limit exceeded (" + std::to_string(limits.memory_mb) + " MB)" +
           line_words(code, r.error_line);
  if (r.status == "no_output") return "wrong answer: nothing was printed";
  if (r.status == "output_limit")
    return "output limit exceeded (" + std::to_string(limits.output_kb) + " kB)";
  if (r.status == "early_exit") return "the program ended before it had returned an answer";
  if (r.status == "interface_error" || r.status == "sandbox_violation" || r.status == "problem_error")
    return r.note;
  if (r.status == "crash") {
    if (!r.error_type.empty())
      return r.error_type + line_words(code, r.error_line) +
             (outcome.test.open && !r.error_message.empty() ? ": " + r.error_message : "");
    std::string out =
        r.signal ? "killed by " + signal_name(r.signal) : "exit status " + std::to_string(r.exit_code);
    if (r.harness) out = "the sandbox did not survive this program";
    if (outcome.test.open && !r.error_message.empty()) out += ": " + r.error_message;
    return out;
  }
  return r.status;
}

std::string block(const Outcome& outcome, std::size_t index, const records::Code& code,
                  const sandbox::Limits& limits) {
  std::string out = "Test " + std::to_string(index + 1) +
                    (outcome.test.open ? " (public): " : " (hidden): ") + describe(outcome, code, limits) +
                    "\n";
  if (!outcome.test.open) return out;
  auto add = [&](const char* title, const std::string& text) {
    out += title + shown(text);
    if (out.back() != '\n') out += "\n";
  };
  if (!outcome.test.input.empty()) add("Input:\n", outcome.test.input);
  if (!outcome.test.want.empty()) add("Expected:\n", outcome.test.want);
  if (!outcome.result.got.empty() && outcome.result.status == "wrong_answer")
    add("Got:\n", outcome.result.got);
  return out;
}

}  // namespace

void tell_compile(const std::string& language, const sandbox::Limits& limits, const Program& program,
                  const records::Code& code, std::string& out) {
  indent("program (" + language + ")", numbered(code.text), out);
  out += "  limits: " + seconds(limits.cpu_s) + " of CPU time, " + seconds(limits.wall_s) + " in all, " +
         std::to_string(limits.memory_mb) + " MB of memory, " + std::to_string(limits.output_kb) +
         " kB of output, files of " + std::to_string(limits.file_mb) + " MB, " +
         std::to_string(limits.processes) + " processes\n";
  out += "  compiled in " + seconds(rounded(program.compile_s, 1e3)) + ": " +
         (program.failed.empty() ? "ok" : program.failed) + "\n";
  if (!program.message.empty()) indent("compiler", program.message, out);
}

void tell_case(const Outcome& outcome, std::size_t index, std::string& out) {
  const Result& r = outcome.result;
  out += "  test " + std::to_string(index + 1) + (outcome.test.open ? " (public): " : " (hidden): ") +
         r.status + ", " + seconds(rounded(r.cpu_s, 1e3)) + " of CPU time, " +
         seconds(rounded(r.wall_s, 1e3)) + " in all, " + seconds(rounded(r.max_rss_mb, 10)) + "\n";
  out.replace(out.size() - 3, 2, " MB");
  if (r.signal) out += "    signal " + signal_name(r.signal) + "\n";
  if (r.exit_code >= 0) out += "    exit status " + std::to_string(r.exit_code) + "\n";
  if (!r.error_type.empty())
    out += "    " + r.error_type + " at line " + std::to_string(r.error_line) + ": " + r.error_message + "\n";
  if (!r.note.empty()) out += "    " + r.note + "\n";
  if (!outcome.test.input.empty()) indent("  input", shown(outcome.test.input), out);
  if (!outcome.test.want.empty()) indent("  expected", shown(outcome.test.want), out);
  if (!r.got.empty()) indent("  got", shown(r.got), out);
}

Json verdict_of(const Report& report, const std::vector<Outcome>& outcomes) {
  const std::size_t total = report.total;
  std::size_t passed = 0, first = outcomes.size(), first_open = outcomes.size();
  double cpu_s = 0, wall_s = 0, rss_mb = 0;
  bool cheat = false, harness = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Result& r = outcomes[i].result;
    if (r.status == "ok")
      ++passed;
    else if (first == outcomes.size())
      first = i;
    if (r.status != "ok" && outcomes[i].test.open && first_open == outcomes.size()) first_open = i;
    cpu_s += r.cpu_s;
    wall_s += r.wall_s;
    rss_mb = std::max(rss_mb, r.max_rss_mb);
    cheat = cheat || r.cheat;
    harness = harness || r.harness;
  }
  const bool ok = passed == total && total > 0;
  Json out;
  out["status"] = ok ? "ok" : outcomes[first].result.status;
  out["stage"] =
      ok || outcomes[first].result.status == "wrong_answer" || outcomes[first].result.status == "no_output"
          ? "compare"
          : "run";
  out["passed"] = passed;
  out["total"] = total;
  out["ran"] = outcomes.size();
  std::string feedback =
      ok ? "Passed all " + std::to_string(total) + " tests."
         : "Passed " + std::to_string(passed) + " of " + std::to_string(total) + " tests.\n";
  if (total == 1 && report.script) feedback = ok ? "All tests passed." : "The tests failed.\n";
  if (!ok) {
    if (report.script) {
      feedback += describe(outcomes[first], report.code, report.limits) + "\n";
      if (outcomes[first].test.open && outcomes[first].result.status == "wrong_answer")
        feedback += outcomes[first].test.want;
    } else {
      feedback += block(outcomes[first], first, report.code, report.limits);
      if (first_open < outcomes.size() && first_open != first)
        feedback += block(outcomes[first_open], first_open, report.code, report.limits);
    }
  }
  out["feedback"] = shorten(strip(feedback), kFeedbackBytes, " ... (shortened)");
  if (!ok) {
    const Outcome& failing = outcomes[first];
    Json failure = {{"case", first}};
    if (failing.test.open && !report.script && failing.result.status == "wrong_answer") {
      failure["got"] = shown(failing.result.got);
      failure["want"] = shown(failing.test.want);
    }
    out["first_failure"] = failure;
    if (failing.result.signal)
      out["signal"] = failing.result.signal;
    else if (failing.result.exit_code >= 0)
      out["exit_code"] = failing.result.exit_code;
  }
  out["device"] = "cpu";
  out["cheat"] = cheat;
  Json flags = report.flags;
  if (harness) flags.push_back("harness");
  out["flags"] = flags;
  out["measured"] = {{"compile_s", rounded(report.compile_s, 1e4)},
                     {"cpu_s", rounded(cpu_s, 1e4)},
                     {"wall_s", rounded(wall_s, 1e4)},
                     {"max_rss_mb", rounded(rss_mb, 10)}};
  return out;
}

}  // namespace leap::verify
