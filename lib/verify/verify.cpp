#include "verify/verify.hpp"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "records/records.hpp"
#include "verify/cache.hpp"
#include "verify/cpp.hpp"
#include "verify/kernel_judge.hpp"
#include "verify/limits.hpp"
#include "verify/program_store.hpp"
#include "verify/report.hpp"
#include "verify/runner.hpp"
#include "verify/value.hpp"
#include "verify/words.hpp"

namespace leap::verify {

extern const char kDriver[];
extern const char kFrames[];

namespace {

using records::find;
using records::text_of;

constexpr std::size_t kProgramBytes = 64u << 20;  ///< of C++ programs kept in a run

const Json& member(const Json& object, const char* name, const std::string& where) {
  const Json* found = find(object, name);
  if (!found) throw RecordError(where + "." + name + ": missing");
  return *found;
}

std::string required_text(const Json& object, const char* name, const std::string& where) {
  const Json& value = member(object, name, where);
  if (!value.is_string()) throw RecordError(where + "." + name + ": must be a string");
  return value.get<std::string>();
}

/// The tests of a check, each made once, and one before its time.
class Ahead {
 public:
  Ahead(std::size_t count, std::function<Runner::Job(std::size_t)> make)
      : count_(count), make_(std::move(make)) {}
  /// Test `i`, one more each time, and the one after it, if there is one.
  std::pair<const Runner::Job&, const Runner::Job*> at(std::size_t i) {
    now_ = i == 0 ? make_(0) : std::move(next_);
    if (i + 1 < count_) next_ = make_(i + 1);
    return {now_, i + 1 < count_ ? &next_ : nullptr};
  }

 private:
  std::size_t count_;
  std::function<Runner::Job(std::size_t)> make_;
  Runner::Job now_, next_;
};

Outcome script_outcome(const Json& check, const Script& script, Result result) {
  Outcome outcome;
  const Json* open = find(check, "public");
  outcome.test.open = open && open->is_boolean() && open->get<bool>();
  if (outcome.test.open) outcome.test.want = "The tests:\n" + shown(script.source, 1200);
  outcome.result = std::move(result);
  return outcome;
}

/// Another run may end otherwise.
bool is_unsure(const Result& result) {
  return result.harness || result.status == "harness_error" || result.status == "problem_error" ||
         (result.status == "timeout" && result.by_wall);
}

}  // namespace

class Verifier::Judge {
 public:
  explicit Judge(Options options)
      : options_(options),
        candidates_(harness_settings(options.sandbox, Guests::kCandidates)),
        judges_(harness_settings(options.sandbox, Guests::kJudges)),
        compilers_({options.sandbox, "", 512, {}}) {
    if (!options_.cache.empty()) {
      cache_.emplace(options_.cache, options_.warn);
      stamp_ = sha256(harness_text() + kDriver + kFrames) + toolchain_stamp();
    }
  }

  /// Out of the cache, where it is there.
  Json verdict(const Json& task, const records::Code& code, std::string_view id);
  /// `told`, if given, gets the details.
  Json judge(const Json& task, const records::Code& code, std::string_view id, bool& unsure,
             std::string* told);
  /// Made when it is first needed.
  kernel::Judge& kernels() {
    std::call_once(kernels_made_, [&] {
      kernel::Options kernels = options_.kernel;
      kernels.sandbox = options_.sandbox;
      kernels_ = std::make_unique<kernel::Judge>(kernels, cache_ ? &*cache_ : nullptr);
    });
    return *kernels_;
  }

 private:
  struct Task {
    const Json& json;
    const Json& check;
    std::string language, type, entry_point;
    sandbox::Limits limits;
  };

  Program compile(const Task& task, const records::Code& code, bool together);
  void run_stdio(const Task& task, Runner& runner, std::vector<Outcome>& outcomes, std::size_t& total);
  /// `show_all`: also keeps what feedback may not show.
  void run_calls(const Task& task, Runner& runner, bool show_all, std::vector<Outcome>& outcomes,
                 std::size_t& total);
  Program compile_kept(const std::vector<CppSource>& sources, const std::string& standard);
  /// Names a sandbox that is weaker than bubblewrap.
  Json sandbox_flags() const;
  Json plain_verdict(const std::string& status, const std::string& stage, const std::string& feedback) const;

  Options options_;
  std::optional<Cache> cache_;
  std::string stamp_;  ///< what cached results depend on besides their key
  Pool candidates_, judges_, compilers_;
  Prelude prelude_;
  std::once_flag kernels_made_;
  std::unique_ptr<kernel::Judge> kernels_;
  ProgramStore programs_{kProgramBytes};
};

Json Verifier::Judge::sandbox_flags() const {
  const sandbox::Mode mode = sandbox::resolve(options_.sandbox);
  Json flags = Json::array();
  if (mode == sandbox::Mode::kLandlock) flags.push_back("landlock");
  if (mode == sandbox::Mode::kNone) flags.push_back("no_sandbox");
  return flags;
}

Json Verifier::Judge::plain_verdict(const std::string& status, const std::string& stage,
                                    const std::string& feedback) const {
  return {{"status", status}, {"stage", stage}, {"passed", 0},
          {"total", 0},       {"ran", 0},       {"feedback", feedback},
          {"device", "cpu"},  {"cheat", false}, {"flags", sandbox_flags()}};
}

std::string cpp_standard_of(const Json& task) {
  std::string standard(text_of(task, "standard"));
  if (standard.empty()) return "gnu++20";
  if (standard.rfind("c++", 0) == 0) standard = "gnu" + standard.substr(1);
  static const char* const kKnown[] = {"gnu++11", "gnu++14", "gnu++17", "gnu++20", "gnu++23"};
  for (const char* known : kKnown)
    if (standard == known) return standard;
  throw RecordError("task.standard: not a known C++ standard: " + standard);
}

Program Verifier::Judge::compile(const Task& task, const records::Code& code, bool together) {
  if (task.language == "python") return compile_python(candidates_, code.text);
  if (task.type == "stdio") return compile_kept({{"solution.cpp", code.text}}, cpp_standard_of(task.json));
  const auto sources =
      together
          ? cpp_together(code.text, task.entry_point, std::string(text_of(task.check, "code")),
                         std::string(text_of(task.check, "call")), std::string(text_of(task.json, "starter")))
          : cpp_server(code.text, task.entry_point);
  return compile_kept(sources, cpp_standard_of(task.json));
}

Program Verifier::Judge::compile_kept(const std::vector<CppSource>& sources, const std::string& standard) {
  std::string key = stamp_ + "\n" + standard;
  for (const CppSource& source : sources) key += "\n" + source.name + " " + sha256(source.text);
  bool made_here = false;
  Program program = *programs_.get(key, [&] {
    made_here = true;
    Program out;
    out.native = true;
    if (auto bytes = cache_ ? cache_->get("binary", key) : std::nullopt) {
      out.bytes = std::move(*bytes);
      return out;
    }
    out = compile_cpp(compilers_, sources, standard, &prelude_);
    if (cache_ && out.failed.empty()) cache_->put("binary", key, out.bytes);
    return out;
  });
  if (!made_here) program.compile_s = 0;
  return program;
}

void Verifier::Judge::run_stdio(const Task& task, Runner& runner, std::vector<Outcome>& outcomes,
                                std::size_t& total) {
  const Json& cases = member(task.check, "cases", "task.check");
  if (!cases.is_array()) throw RecordError("task.check.cases: must be an array");
  total = cases.size();
  const std::string compare_name(text_of(task.check, "compare"));
  Compare compare = Compare::kTokens;
  if (compare_name == "lines")
    compare = Compare::kLines;
  else if (compare_name == "exact")
    compare = Compare::kExact;
  else if (!compare_name.empty() && compare_name != "tokens")
    throw RecordError("task.check.compare: must be tokens, lines or exact");
  const double tolerance = number_of(task.check, "tolerance", 0, "task.check");
  std::shared_ptr<const Program> checker;
  const Json* given = find(task.check, "checker");
  if (given && !given->is_null()) {
    const std::string language = required_text(*given, "language", "task.check.checker");
    const std::string source = required_text(*given, "code", "task.check.checker");
    if (language != "python" && language != "cpp")
      throw RecordError("task.check.checker.language: must be python or cpp");
    checker = programs_.get("checker " + language + "\n" + source, [&] {
      return language == "python" ? compile_python(judges_, source)
                                  : compile_cpp(compilers_, {{"solution.cpp", source}}, "gnu++20");
    });
  }
  Ahead jobs(total, [&](std::size_t i) {
    Runner::Job job;
    if (cases[i].is_object()) job.input = text_of(cases[i], "stdin");
    return job;
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string where = "task.check.cases[" + std::to_string(i) + "]";
    if (!cases[i].is_object()) throw RecordError(where + ": must be an object");
    Outcome outcome;
    const auto [job, next] = jobs.at(i);
    outcome.test.input = job.input;
    outcome.test.want = checker && !find(cases[i], "stdout") ? "" : required_text(cases[i], "stdout", where);
    const Json* open = find(cases[i], "public");
    outcome.test.open = open && open->is_boolean() && open->get<bool>();
    Result& result = outcome.result;
    if (checker && !checker->failed.empty()) {
      result.status = "problem_error";
      result.note = "the checker does not compile";
    } else {
      result = runner.run(job, next);
      if (result.status == "ok" && checker) {
        Checked checked = run_checker(judges_, *checker, outcome.test.input, result.got, outcome.test.want);
        // A checker that cannot even read the right answer is broken; one that chokes on this output has
        // refused it.
        if (checked == Checked::kBroken &&
            run_checker(judges_, *checker, outcome.test.input, outcome.test.want, outcome.test.want) ==
                Checked::kAccepted)
          checked = Checked::kWrong;
        if (checked == Checked::kBroken) result.status = "problem_error", result.note = "the checker failed";
        if (checked == Checked::kWrong) result.status = "wrong_answer";
      } else if (result.status == "ok" && !same_output(result.got, outcome.test.want, compare, tolerance)) {
        const bool nothing = strip(result.got).empty() && !strip(outcome.test.want).empty();
        result.status = nothing ? "no_output" : "wrong_answer";
      }
    }
    const bool failed = result.status != "ok";
    outcomes.push_back(std::move(outcome));
    if (failed && options_.first_failure) return;
  }
}

void Verifier::Judge::run_calls(const Task& task, Runner& runner, bool show_all,
                                std::vector<Outcome>& outcomes, std::size_t& total) {
  const Json& cases = member(task.check, "cases", "task.check");
  if (!cases.is_array()) throw RecordError("task.check.cases: must be an array");
  total = cases.size();
  const double tolerance = number_of(task.check, "tolerance", 1e-6, "task.check");
  const Json no_args = Json::array(), no_kwargs = Json::object();
  auto given = [&](std::size_t i) {
    const Json* args = find(cases[i], "args");
    const Json* kwargs = find(cases[i], "kwargs");
    return std::pair(args ? args : &no_args, kwargs && !kwargs->is_null() ? kwargs : &no_kwargs);
  };
  Ahead jobs(total, [&](std::size_t i) {
    Runner::Job job;
    job.call = true;
    job.entry_point = task.entry_point;
    if (!cases[i].is_object()) return job;
    const auto [args, kwargs] = given(i);
    if (jsonl::is_array(*args)) job.args = write_marshal(*args);
    if (kwargs->is_object()) job.kwargs = write_marshal(*kwargs);
    return job;
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string where = "task.check.cases[" + std::to_string(i) + "]";
    if (!cases[i].is_object()) throw RecordError(where + ": must be an object");
    const auto [args, kwargs] = given(i);
    const Json& want = member(cases[i], "expect", where);
    if (!jsonl::is_array(*args)) throw RecordError(where + ".args: must be an array");
    if (!kwargs->is_object()) throw RecordError(where + ".kwargs: must be an object");
    Outcome outcome;
    const Json* open = find(cases[i], "public");
    outcome.test.open = open && open->is_boolean() && open->get<bool>();
    if (outcome.test.open || show_all) {
      outcome.test.input =
          "arguments " + jsonl::dump(*args) + (kwargs->empty() ? "" : " " + jsonl::dump(*kwargs));
      outcome.test.want = jsonl::dump(want);
    }
    Result& result = outcome.result;
    const auto [job, next] = jobs.at(i);
    result = runner.run(job, next);
    const std::string value = std::move(result.got);
    result.got.clear();
    if (result.status == "ok") {
      try {
        const Value got = read_marshal(value, nodes_of(want) + 100000);
        if (!same(got, want, tolerance)) result.status = "wrong_answer";
        if (outcome.test.open || show_all) result.got = show(got, kShown);
      } catch (const RecordError&) {
        result.status = "wrong_answer";
        result.note = "returned something that is not plain data";
      }
    }
    const bool failed = result.status != "ok";
    outcomes.push_back(std::move(outcome));
    if (failed && options_.first_failure) return;
  }
}

Json Verifier::Judge::verdict(const Json& task_json, const records::Code& code, std::string_view id) {
  bool unsure = false;
  if (!cache_) return judge(task_json, code, id, unsure, nullptr);
  const Json* check = find(task_json, "check");
  std::string key;
  if (check && text_of(*check, "type") == "kernel") key = kernels().stamp() + "\n" + std::string(id) + "\n";
  key += stamp_ + (options_.first_failure ? " first " : " all ") +
         std::to_string(static_cast<int>(sandbox::resolve(options_.sandbox))) + " " +
         std::to_string(code.added_at) + " " + std::to_string(code.added) + "\n";
  for (const char* name : {"language", "standard", "starter", "entry_point", "limits", "check"}) {
    const Json* value = find(task_json, name);
    key += (value ? jsonl::dump(*value) : "null") + "\n";
  }
  key += code.text;
  if (const auto bytes = cache_->get("verdict", key)) {
    try {
      Json found = Json::parse(*bytes);
      found["measured"]["cached"] = true;
      return found;
    } catch (const Json::exception&) {
      // As if it were not there.
    }
  }
  Json out = judge(task_json, code, id, unsure, nullptr);
  if (!unsure) cache_->put("verdict", key, out.dump());
  return out;
}

Json Verifier::Judge::judge(const Json& task_json, const records::Code& code, std::string_view id,
                            bool& unsure, std::string* told) {
  unsure = false;
  const Json& check = member(task_json, "check", "task");
  if (!check.is_object()) throw RecordError("task.check: must be an object");
  Task task{task_json,
            check,
            std::string(text_of(task_json, "language")),
            required_text(check, "type", "task.check"),
            std::string(text_of(task_json, "entry_point")),
            limits_of(task_json)};
  if (task.type == "kernel") {
    if (!task.language.empty() && task.language != "cuda")
      throw RecordError("task.language: `" + task.language +
                        "` is not supported for kernel checks; use cuda");
    return kernels().verdict(check, code, task.limits, id, unsure, told);
  }
  if (task.language.empty()) task.language = "python";
  if (task.type != "stdio" && task.type != "call" && task.type != "script")
    throw RecordError("task.check.type: `" + task.type +
                      "` is not supported; use stdio, call, script or kernel");
  if (task.language != "python" && task.language != "cpp")
    throw RecordError("task.language: `" + task.language + "` is not supported for " + task.type +
                      " checks; use python or cpp");
  const Json* cases = find(check, "cases");
  if (task.type == "script") {
    required_text(check, "code", "task.check");
    if (strip(text_of(check, "code")).empty())
      return plain_verdict("problem_error", "run", "The problem has no tests.");
  } else if (!cases || cases->is_null() || (cases->is_array() && cases->empty())) {
    return plain_verdict("problem_error", "run", "The problem has no tests.");
  }
  const std::string call(text_of(check, "call"));
  if (task.entry_point.empty() && task.type == "call")
    throw RecordError("task.entry_point: missing; a call check needs the name of the function");
  if (strip(code.text).empty())
    return plain_verdict("no_code", "extract", "No code was found in the answer.");

  const Json* inprocess = find(check, "inprocess");
  bool together = task.type == "script" && inprocess && inprocess->is_boolean() && inprocess->get<bool>();
  Script script;
  if (task.type == "script") {
    script = {std::string(text_of(check, "code")), call, task.entry_point, {}};
    if (task.entry_point.empty()) together = true;
    if (task.language == "cpp" && !together) {
      const std::string starter(text_of(task_json, "starter"));
      const auto sources = cpp_tester(script.source, call, task.entry_point, starter);
      if (sources.empty()) {
        together = true;
      } else {
        script.native = *programs_.get("tests " + cpp_standard_of(task.json) + "\n" + sources[0].text, [&] {
          return compile_cpp(compilers_, sources, cpp_standard_of(task.json));
        });
        together = !script.native.failed.empty();
      }
    }
  }
  std::vector<Outcome> outcomes;
  std::size_t total = 1;
  Program program;
  const auto conclude = [&] {
    Report report{code, task.limits, task.type == "script", total, program.compile_s, sandbox_flags()};
    if (together) report.flags.push_back("inprocess");
    return verdict_of(report, outcomes);
  };
  if (task.type == "script" && task.language == "python" && !together && !told) {
    program.source = true;
    program.bytes = code.text;
    if (auto result = Runner(candidates_, judges_, program, task.limits).script_from_source(script)) {
      program.compile_s = result->compile_s;
      outcomes.push_back(script_outcome(check, script, std::move(*result)));
      unsure = is_unsure(outcomes[0].result);
      return conclude();
    }
  }
  program = compile(task, code, together);
  if (told) tell_compile(task.language, task.limits, program, code, *told);
  unsure = program.unsure;
  if (!program.failed.empty()) {
    std::string words = "The program does not compile.\n" + program.message;
    if (task.language == "python" && program.line > 0) words += line_words(code, program.line);
    if (program.in_driver)
      words = "`" + task.entry_point + "` is not defined, or not with the signature that the tests use.";
    Json out = plain_verdict(program.in_driver ? "interface_error" : program.failed, "compile",
                             shorten(strip(words), kFeedbackBytes, " ... (shortened)"));
    if (cases && cases->is_array() && task.type != "script") out["total"] = cases->size();
    if (task.type == "script") out["total"] = 1;
    out["measured"] = {{"compile_s", rounded(program.compile_s, 1e4)}};
    return out;
  }
  {
    Runner runner(candidates_, judges_, program, task.limits);
    if (task.type == "stdio") {
      run_stdio(task, runner, outcomes, total);
    } else if (task.type == "call") {
      run_calls(task, runner, told != nullptr, outcomes, total);
    } else {
      outcomes.push_back(
          script_outcome(check, script, together ? runner.script_together(script) : runner.script(script)));
    }
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    unsure = unsure || is_unsure(outcomes[i].result);
    if (told) tell_case(outcomes[i], i, *told);
  }
  return conclude();
}

Verifier::Verifier(Options options) : judge_(std::make_unique<Judge>(options)) {}
Verifier::~Verifier() = default;

Json Verifier::verdict(const Json& task, const records::Code& code, std::string_view id) {
  return judge_->verdict(task, code, id);
}

Json Verifier::verdict(const Json& task, const std::string& code, std::string_view id) {
  return verdict(task, records::Code{code, 0, 0}, id);
}

Json Verifier::verdict_of_turn(const Json& task, const Json& turn, std::string_view id) {
  return verdict(task, records::code_of_turn(turn, task), id);
}

Verifier::Probes Verifier::probe_kernel(const Json& task, std::string_view id) {
  Probes out;
  out.error = judge_->kernels().probe(member(task, "check", "task"), id, out.passed_by);
  return out;
}

std::string Verifier::explain(const Json& record) {
  const Json& task = member(record, "task", "record");
  std::string out = "record " + records::id_of(record) + "\n";
  const Json* rollouts = find(record, "rollouts");
  if (!rollouts || !rollouts->is_array() || rollouts->empty()) return out + "  no rollouts\n";
  for (std::size_t i = 0; i < rollouts->size(); ++i) {
    const Json* turns = find((*rollouts)[i], "turns");
    if (!turns || !turns->is_array())
      throw RecordError("rollouts[" + std::to_string(i) + "].turns: must be an array");
    for (std::size_t t = 0; t < turns->size(); ++t) {
      out += "\nrollout " + std::to_string(i + 1) + ", turn " + std::to_string(t + 1) + "\n";
      bool unsure = false;
      const Json verdict =
          judge_->judge(task, records::code_of_turn((*turns)[t], task), records::id_of(record), unsure, &out);
      out += "  verdict: " + verdict["status"].get<std::string>() + ", passed " + verdict["passed"].dump() +
             " of " + verdict["total"].dump() + "\n";
      if (verdict["cheat"] == true) out += "  caught cheating\n";
      if (!verdict["flags"].empty()) out += "  flags: " + verdict["flags"].dump() + "\n";
      indent("feedback", verdict["feedback"].get<std::string>(), out);
      const Json* before = find((*turns)[t], "verdict");
      if (before) out += "  verdict in the record: " + std::string(text_of(*before, "status")) + "\n";
    }
  }
  return out;
}

namespace {

bool has_verdict(const Json& turn) {
  const Json* verdict = find(turn, "verdict");
  return verdict && !text_of(*verdict, "status").empty();
}

}  // namespace

bool Verifier::verify_record(Json& record) {
  Json* rollouts = find(record, "rollouts");
  if (!rollouts) return false;
  if (!rollouts->is_array()) throw RecordError("rollouts: must be an array");

  // The programs to run, each once, with the turns that hold them.
  struct Job {
    records::Code code;
    std::vector<Json*> turns;
    Json verdict;
  };
  std::vector<Job> jobs;
  std::map<std::string, std::size_t> known;
  std::vector<Json*> changed;  // rollouts
  for (std::size_t i = 0; i < rollouts->size(); ++i) {
    const std::string where = "rollouts[" + std::to_string(i) + "]";
    Json& rollout = (*rollouts)[i];
    Json* turns = find(rollout, "turns");
    if (!turns || !turns->is_array()) throw RecordError(where + ".turns: must be an array");
    bool any = false;
    for (std::size_t t = 0; t < turns->size(); ++t) {
      Json& turn = (*turns)[t];
      if (!turn.is_object())
        throw RecordError(where + ".turns[" + std::to_string(t) + "]: must be an object");
      if (has_verdict(turn)) continue;
      records::Code code = records::code_of_turn(turn, member(record, "task", "record"));
      const auto [found, fresh] = known.emplace(code.text, jobs.size());
      if (fresh) jobs.push_back({std::move(code), {}, {}});
      jobs[found->second].turns.push_back(&turn);
      any = true;
    }
    if (any) changed.push_back(&rollout);
  }
  if (jobs.empty()) return false;

  const Json& task = member(record, "task", "record");
  const std::string id = records::id_of(record);
  for_each_index(jobs.size(), [&](std::size_t i) { jobs[i].verdict = verdict(task, jobs[i].code, id); });
  for (Job& job : jobs) {
    for (Json* turn : job.turns) (*turn)["verdict"] = job.verdict;
  }
  for (Json* rollout : changed) set_state(*rollout);
  return true;
}

bool is_verified(const Json& record) {
  const Json* rollouts = find(record, "rollouts");
  if (!rollouts || !rollouts->is_array()) return true;
  for (const Json& rollout : *rollouts) {
    const Json* turns = find(rollout, "turns");
    if (!turns || !turns->is_array()) return false;
    for (const Json& turn : *turns) {
      if (!has_verdict(turn)) return false;
    }
  }
  return true;
}

void set_state(Json& rollout) {
  const Json& turns = *find(rollout, "turns");
  const bool solved = std::any_of(turns.begin(), turns.end(), records::is_solved);
  if (solved)
    rollout["state"] = "solved";
  else if (!find(rollout, "state"))
    rollout["state"] = "open";
}

}  // namespace leap::verify
