#include "verify/lint.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "records/records.hpp"
#include "verify/cpp.hpp"

namespace leap::verify {
namespace {

using records::find;
using records::text_of;

struct Probe {
  const char* name;
  std::string code;
};

std::string python_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string cpp_text(const std::string& text) {
  std::string out = "\"";
  for (const unsigned char c : text) {
    out += '\\';
    for (int shift = 6; shift >= 0; shift -= 3) out += static_cast<char>('0' + (c >> shift & 7));
  }
  return out + "\"";
}

/// The answer of the first case, of the kind that the check asks for.
const Json* first_answer(const Json& check, const char* name) {
  const Json* cases = find(check, "cases");
  if (!cases || !cases->is_array() || cases->empty() || !(*cases)[0].is_object()) return nullptr;
  return find((*cases)[0], name);
}

std::vector<Probe> stdio_probes(const Json& check, bool python) {
  const Json* first = first_answer(check, "stdout");
  std::vector<std::string> answers = {"0\n"};
  if (first && first->is_string()) answers.insert(answers.begin(), first->get<std::string>());
  std::vector<Probe> out = {{"empty", python ? "pass\n" : "int main() {}\n"}};
  for (const std::string& answer : answers)
    out.push_back({"constant", python ? "import sys\nsys.stdout.write(" + python_text(answer) + ")\n"
                                      : "#include <cstdio>\nint main() { fwrite(" + cpp_text(answer) +
                                            ", 1, " + std::to_string(answer.size()) + ", stdout); }\n"});
  out.push_back({"echo", python ? "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"
                                : "#include <cstdio>\nint main() { for (int c; (c = getchar()) != EOF;) "
                                  "putchar(c); }\n"});
  return out;
}

std::vector<Probe> function_probes(const Json& task, const Json& check, bool python) {
  const std::string name(text_of(task, "entry_point")), starter(text_of(task, "starter"));
  std::vector<std::string> answers = {"0", "1", "true", "false", "\"\"", "[]", "{}"};
  const Json* first = first_answer(check, "expect");
  if (first) answers.insert(answers.begin(), jsonl::dump(*first));
  std::vector<Probe> out;
  if (!python) {
    out.push_back({"empty", cpp_function(starter, name, "return {};")});
    for (const std::string& answer : answers)
      if (answer[0] != '[' && answer[0] != '{')
        out.push_back({"constant", cpp_function(starter, name, "return " + answer + ";")});
    out.push_back({"echo", cpp_function(starter, name, "return leap_p0;")});
    return out;
  }
  const std::string head = "def " + name + "(*args, **kwargs):\n    return ";
  out.push_back({"empty", head + "None\n"});
  for (const std::string& answer : answers)
    out.push_back({"constant", "import json\n" + head + "json.loads(" + python_text(answer) + ")\n"});
  out.push_back({"echo", head + "(args or list(kwargs.values()) or [None])[0]\n"});
  return out;
}

/// Runs programs that do nothing of what is asked.
void probe_programs(Verifier& verifier, const Json& task, const Json& check, Json& passed_by, Json& error) {
  const bool python = text_of(task, "language") != "cpp";
  const auto probes =
      text_of(check, "type") == "stdio" ? stdio_probes(check, python) : function_probes(task, check, python);
  for (const Probe& probe : probes) {
    if (probe.code.empty() || (!passed_by.empty() && passed_by.back() == probe.name)) continue;
    const Json verdict = verifier.verdict(task, probe.code);
    if (verdict["status"] == "ok") passed_by.push_back(probe.name);
    if (verdict["status"] == "problem_error" && error.is_null()) error = verdict["feedback"];
  }
}

}  // namespace

void lint(Verifier& verifier, Json& record) {
  const Json* task = find(record, "task");
  if (!task || !task->is_object()) throw RecordError("task: missing");
  const Json* check = find(*task, "check");
  if (!check || !check->is_object()) throw RecordError("task.check: missing");
  const std::string id = records::id_of(record);
  Json passed_by = Json::array(), error;
  if (text_of(*check, "type") == "kernel") {
    const auto probes = verifier.probe_kernel(*task, id);
    passed_by = probes.passed_by;
    if (!probes.error.empty()) error = probes.error;
  } else {
    probe_programs(verifier, *task, *check, passed_by, error);
  }
  Json lint = {{"gameable", !passed_by.empty()}, {"passed_by", passed_by}};
  const Json* solution = find(*task, "solution");
  if (solution && solution->is_string()) {
    for (int run = 0; run < 2; ++run) {
      const Json verdict =
          verifier.verdict(*task, records::code_of_turn({{"code", solution->get<std::string>()}}, *task), id);
      lint["solution"] = verdict["status"];
      if (verdict["status"] == "ok") continue;
      lint["solution_feedback"] = verdict["feedback"];
      break;
    }
  }
  if (!error.is_null()) lint["error"] = error;
  record["lint"] = std::move(lint);
}

}  // namespace leap::verify
