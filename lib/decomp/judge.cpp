#include "decomp/judge.hpp"

#include <signal.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "records/records.hpp"
#include "verify/limits.hpp"
#include "verify/value.hpp"
#include "verify/verify.hpp"

namespace leap::decomp {
namespace {

using records::find;
using records::text_of;

constexpr std::size_t kRemembered = 64 << 10;  // bytes of an output that is remembered

}  // namespace

char letter_of_status(std::string_view status) {
  static const std::map<std::string_view, char> letters = {
      {"ok", 'P'},      {"wrong_answer", 'W'},  {"no_output", 'W'},
      {"no_code", 'W'}, {"compile_error", 'C'}, {"compile_timeout", 'C'},
      {"timeout", 'T'}, {"out_of_memory", 'M'}, {"output_limit", 'O'}};
  const auto found = letters.find(status);
  return found == letters.end() ? 'E' : found->second;
}

Judge::Judge(const Json& task) : task_(task) {
  const Json* check = find(task, "check");
  if (!check || !check->is_object()) throw RecordError("task.check: must be an object");
  limits_ = verify::limits_of(task);
  const std::string type(text_of(*check, "type"));
  const std::string language(text_of(task, "language"));
  if (type == "script") return;
  if (type != "stdio" && type != "call")
    throw RecordError("task.check.type: `" + type + "` cannot be recombined; use stdio, call or script");
  const Json* cases = find(*check, "cases");
  if (!cases || !cases->is_array() || cases->empty())
    throw RecordError("task.check.cases: must be an array of at least one case");
  tests_ = cases->size();
  call_ = type == "call";
  const Json* checker = find(*check, "checker");
  const bool compared = !checker || checker->is_null();
  plain_ = compared && (language.empty() || language == "python");
  native_ = compared && language == "cpp" && !call_;
  if (!plain_ && !native_) return;
  if (native_) standard_ = verify::cpp_standard_of(task);
  entry_ = call_ ? std::string(text_of(task, "entry_point")) : "";
  if (call_ && entry_.empty())
    throw RecordError("task.entry_point: missing; a call check needs the name of the function");
  tolerance_ = verify::number_of(*check, "tolerance", call_ ? 1e-6 : 0, "task.check");
  const std::string how(text_of(*check, "compare"));
  if (how == "lines")
    how_ = verify::Compare::kLines;
  else if (how == "exact")
    how_ = verify::Compare::kExact;
  else if (!how.empty() && how != "tokens")
    throw RecordError("task.check.compare: must be tokens, lines or exact");
  for (std::size_t i = 0; i < tests_; ++i) {
    const std::string where = "task.check.cases[" + std::to_string(i) + "]";
    const Json& one = (*cases)[i];
    if (!one.is_object()) throw RecordError(where + ": must be an object");
    const Json* want = find(one, call_ ? "expect" : "stdout");
    if (!want) throw RecordError(where + (call_ ? ".expect: missing" : ".stdout: missing"));
    if (!call_ && !want->is_string()) throw RecordError(where + ".stdout: must be a string");
    wanted_.push_back(want);
    TestInput input;
    if (call_) {
      const Json* args = find(one, "args");
      const Json* kwargs = find(one, "kwargs");
      if (args && !jsonl::is_array(*args)) throw RecordError(where + ".args: must be an array");
      if (kwargs && !kwargs->is_object() && !kwargs->is_null())
        throw RecordError(where + ".kwargs: must be an object");
      input.args = verify::write_marshal(args ? *args : Json::array());
      input.kwargs = verify::write_marshal(kwargs && !kwargs->is_null() ? *kwargs : Json::object());
    } else {
      input.input = text_of(one, "stdin");
    }
    inputs_.push_back(std::move(input));
  }
  known_.resize(tests_);
}

Json Judge::single(std::size_t test) const {
  if (text_of(task_["check"], "type") == "script") return task_;
  Json out = task_;
  out["check"]["cases"] = Json::array({task_["check"]["cases"][test]});
  return out;
}

char Judge::compare(std::size_t test, const std::string& output) const {
  const bool small = output.size() <= kRemembered;
  if (small) {
    std::lock_guard lock(mutex_);
    const auto found = known_[test].find(output);
    if (found != known_[test].end()) return found->second;
  }
  bool same = false;
  const Json& want = *wanted_[test];
  if (call_) {
    try {
      same = verify::same(verify::read_marshal(output, verify::nodes_of(want) + 100000), want, tolerance_);
    } catch (const RecordError&) {
      // No plain data.
    }
  } else {
    same = verify::same_output(output, want.get_ref<const std::string&>(), how_, tolerance_);
  }
  const char letter = same ? 'P' : 'W';
  if (small) {
    std::lock_guard lock(mutex_);
    known_[test].emplace(output, letter);
  }
  return letter;
}

char Judge::letter(std::size_t test, const RunResult& r) const {
  if (r.flags & kSyntaxError) return 'C';
  if (r.end == RunEnd::kOutput) return 'O';
  if (r.end == RunEnd::kCpu || r.end == RunEnd::kWall || r.cpu_s > limits_.cpu_s) return 'T';
  const bool killed = r.end == RunEnd::kSignal && r.code == SIGKILL &&
                      static_cast<double>(r.rss_kb) > 0.8 * 1024 * limits_.memory_mb;
  if (r.end == RunEnd::kMemory || (r.flags & kMemoryError) || killed) return 'M';
  if (r.end == RunEnd::kSignal || r.code != 0) return 'E';
  if (call_ && !(r.flags & kComplete)) return 'E';
  return compare(test, r.output);
}

char Judge::letter(std::size_t test, const verify::Result& r) const {
  return r.status == "ok" ? compare(test, r.got) : letter_of_status(r.status);
}

}  // namespace leap::decomp
