#include "verify/runner.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.hpp"
#include "verify/limits.hpp"
#include "verify/value.hpp"

namespace leap::verify {

using sandbox::Child;
using sandbox::End;
using sandbox::Ended;
using sandbox::Fields;
using sandbox::Limits;

namespace {

/// Names that feedback may show: a name of the candidate's own making could carry hidden input.
const std::set<std::string>& known_errors() {
  static const std::set<std::string> names = {
      "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup",
      "BlockingIOError", "BrokenPipeError", "BufferError", "ChildProcessError", "ConnectionAbortedError",
      "ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "EOFError", "Exception",
      "ExceptionGroup", "FileExistsError", "FileNotFoundError", "FloatingPointError", "GeneratorExit",
      "ImportError", "IndentationError", "IndexError", "InterruptedError", "IsADirectoryError", "KeyError",
      "KeyboardInterrupt", "LookupError", "MemoryError", "ModuleNotFoundError", "NameError",
      "NotADirectoryError", "NotImplementedError", "OSError", "OverflowError", "PermissionError",
      "ProcessLookupError", "RecursionError", "ReferenceError", "RuntimeError", "StopAsyncIteration",
      "StopIteration", "SyntaxError", "SystemError", "SystemExit", "TabError", "TimeoutError", "TypeError",
      "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError",
      "UnicodeTranslateError", "ValueError", "Warning", "ZeroDivisionError",
      // C++
      "std::exception", "std::bad_alloc", "std::out_of_range", "std::invalid_argument", "std::length_error",
      "std::logic_error", "std::runtime_error", "std::overflow_error", "std::domain_error"};
  return names;
}

const std::string& at(const Fields& message, std::size_t i) {
  static const std::string none;
  return i < message.size() ? message[i] : none;
}

constexpr const char* kForged = "wrote to the harness's own channel";

/// Bytes of input that surely fit into a socket whose other end does not read.
constexpr std::size_t kMostAhead = 32 << 10;

}  // namespace

Runner::Runner(Pool& candidates, Pool& judges, const Program& program, const Limits& limits)
    : candidates_(candidates), judges_(judges), program_(program), limits_(limits), lease_(candidates) {
  lease_.keep(program);
}

void Runner::read_error(const Fields& message, std::size_t first, Result& result) const {
  const std::string& name = at(message, first);
  result.error_type = known_errors().count(name) ? name : "Exception";
  result.error_line = std::max(0, std::atoi(at(message, first + 1).c_str()));
  result.error_message = shorten(to_utf8(at(message, first + 2)), 400);
}

void Runner::judge_end(const Ended& ended, bool complete, Result& result) const {
  result.cpu_s = ended.cpu_s;
  result.wall_s = ended.wall_s;
  result.max_rss_mb = ended.max_rss_mb;
  const bool bad_call = ended.end == End::kSignal && ended.code == SIGSYS;
  if (ended.forged || bad_call) {
    result.status = "sandbox_violation";
    result.cheat = true;
    result.note = bad_call ? "a forbidden system call" : kForged;
    // A forger was stopped when this was seen, or was quicker: chance.
    if (bad_call) result.signal = ended.code;
    return;
  }
  const bool own_end = ended.end == End::kExit || ended.end == End::kSignal;
  if (ended.end == End::kExit) result.exit_code = ended.code;
  if (ended.end == End::kSignal) result.signal = ended.code;
  const bool no_memory =
      ended.end == End::kMemory || result.error_type == "MemoryError" ||
      result.error_type == "std::bad_alloc" ||
      (result.signal == SIGABRT && ended.err.find("std::bad_alloc") != std::string::npos) ||
      (result.signal == SIGKILL && ended.max_rss_mb > 0.8 * limits_.memory_mb);
  if (ended.end == End::kOutput) {
    result.status = "output_limit";
  } else if (ended.end == End::kCpu || ended.end == End::kWall || ended.cpu_s > limits_.cpu_s) {
    result.status = "timeout";
    result.by_wall = ended.end == End::kWall;
  } else if (no_memory) {
    result.status = "out_of_memory";
  } else if (result.status == "ok" && !result.error_type.empty()) {
    result.status = "crash";
  } else if (result.status == "ok" && own_end && (result.signal != 0 || (complete && result.exit_code > 0))) {
    result.status = "crash";
    if (program_.native) result.error_message = shorten(to_utf8(ended.err), 300);
  } else if (result.status == "ok" && !complete) {
    result.status = "early_exit";
  }
}

bool sandbox_works(const Pool& pool) {
  try {
    auto box = pool.fresh();
    Child child;
    child.kind = "binary";
    child.arguments = {"/usr/bin/python3", "-I", "-S", "-c", "print(6 * 7)"};
    box->start(child);
    const Ended& ended = box->wait();
    return ended.end == End::kExit && ended.code == 0 && ended.out == "42\n";
  } catch (const Error&) {
    return false;
  }
}

/// One test. CPU time between once and twice the limit is measured again and the better result counts; a
/// program that is still running at twice the limit has timed out. A failing harness is tried once more, in a
/// fresh sandbox.
template <class Once>
Result Runner::steady(const Once& once) {
  auto guarded = [&](const Limits& limits) {
    for (int attempt = 0;; ++attempt) {
      try {
        return once(limits);
      } catch (const sandbox::Fault&) {
        const bool works = attempt == 0 || sandbox_works(candidates_);
        ahead_ = false;
        lease_.renew();
        if (attempt == 0) continue;
        Result result;
        result.status = works ? "crash" : "harness_error";
        result.harness = works;
        return result;
      }
    }
  };
  Limits limits = limits_;
  if (!timed_out_) limits.cpu_s *= 2;
  Result result = guarded(limits);
  if (result.status != "timeout") return result;
  const bool over = result.cpu_s > limits_.cpu_s;
  // The wall's limit counts, but a program that a loaded machine kept from running is given another chance.
  const bool starved = result.by_wall && !over && result.cpu_s > 0.1 * limits_.cpu_s;
  const bool near = !result.by_wall && !timed_out_ && result.cpu_s < limits.cpu_s;
  if (starved || near) {
    drop_ahead();
    Result again = guarded(limits);
    if (again.status != "timeout") return again;
  }
  timed_out_ = timed_out_ || over;
  return result;
}

Result Runner::run(const Job& job, const Job* next) {
  return steady([&](const Limits& limits) { return run_once(job, next, limits); });
}

Result Runner::script(const Script& script) {
  Tester tester(judges_, script);
  return steady([&](const Limits& limits) {
    try {
      auto result = script_once(script, limits, tester);
      return result ? *result : script_once(script, limits, tester).value();
    } catch (const sandbox::Fault&) {
      tester.renew();
      throw;
    }
  });
}

std::optional<Result> Runner::script_from_source(const Script& script) {
  Tester tester(judges_, script);
  try {
    auto result = script_once(script, limits_, tester);
    if (!result) result = script_once(script, limits_, tester);
    const bool known =
        result->compile_s >= 0 && result->status != "timeout" && result->status != "out_of_memory";
    return known ? result : std::nullopt;
  } catch (const sandbox::Fault&) {
    return std::nullopt;
  }
}

Result Runner::script_together(const Script& script) {
  lease_.keep("test", script.source);
  return steady([&](const Limits& limits) { return together_once(script, limits); });
}

void Runner::start(const Job& job, const Limits& limits) {
  Child child;
  child.own_program = program_.native;
  child.limits = limits;
  if (job.call) {
    child.kind = program_.native ? "driver" : "serve";
    child.arguments = {"solution.py", job.entry_point, "plain"};
    child.message = {job.args, job.kwargs};
    child.messages = 2;  // that it is ready, and its answer
  } else {
    child.kind = program_.native ? "binary" : "main";
    child.arguments = {!job.name.empty() ? job.name : program_.native ? "./solution" : "solution.py"};
    child.input = job.input;
  }
  lease_.box().start(child);
}

void Runner::drop_ahead() {
  if (ahead_) lease_.box().stop();
  ahead_ = false;
}

Result Runner::run_once(const Job& job, const Job* next, const Limits& limits) {
  Result result;
  sandbox::Box& box = lease_.box();
  if (!ahead_) start(job, limits);
  ahead_ = next && next->input.size() + next->args.size() + next->kwargs.size() < kMostAhead;
  if (ahead_) start(*next, limits);
  bool complete = !job.call;
  Fields message;
  while (box.next(message)) {
    const std::string& op = at(message, 0);
    if (op == "error") {
      read_error(message, 1, result);
    } else if (op == "missing") {
      result.status = "interface_error";
      result.note = "`" + job.entry_point + "` is not defined";
    } else if (job.call && op != "ready" && !complete) {
      complete = true;
      if (op == "value") {
        result.got = at(message, 1);
      } else if (op == "raise") {
        read_error(message, 1, result);
      } else {
        result.status = "wrong_answer";
        result.note = "returned something that is not plain data";
      }
    }
  }
  judge_end(box.ended(), complete, result);
  if (!job.call) result.got = box.ended().out;
  if (!job.report.empty()) result.report = box.fetch(job.report);
  return result;
}

void Runner::start_server(const std::string& entry_point, const Limits& limits) {
  Child child;
  child.kind = program_.native ? "driver" : "serve";
  child.own_program = program_.native;
  child.arguments = {"solution.py", entry_point, "rich"};
  child.limits = limits;
  lease_.box().start(child);
}

bool Runner::is_serving(const std::string& entry_point, Result& result) {
  sandbox::Box& box = lease_.box();
  Fields message;
  bool more = box.next(message);
  if (program_.source && more && at(message, 0) == "compiled") {
    result.compile_s = std::atof(at(message, 1).c_str());
    more = box.next(message);
  }
  if (more) {
    if (at(message, 0) == "ready") return true;
    if (at(message, 0) == "error") read_error(message, 1, result);
    if (at(message, 0) == "missing") {
      result.status = "interface_error";
      result.note = "`" + entry_point + "` is not defined";
    } else if (at(message, 0) != "error") {
      result.status = "sandbox_violation";
      result.cheat = true;
      result.note = kForged;
      box.stop();
    }
    box.wait();
  }
  judge_end(box.ended(), false, result);
  return false;
}

/// Runs the tests with the candidate that serves. Nothing when that has to be done anew.
std::optional<Result> Runner::script_once(const Script& script, const Limits& limits, Tester& tester) {
  Result result;
  sandbox::Box& candidate = lease_.box();
  // Both get ready at the same time.
  start_server(script.entry_point, limits);
  tester.start(limits);
  if (!is_serving(script.entry_point, result)) {
    tester.dismiss(false);
    return result;
  }
  Fields message;
  int calls = 0;
  bool odd = false, done = false;
  Result raised;
  while (!done && tester.next(message)) {
    const std::string& op = at(message, 0);
    if (op == "call") {
      ++calls;
      candidate.send({at(message, 1), at(message, 2)});
      Fields reply;
      if (!candidate.next(reply)) {
        tester.dismiss(true);
        judge_end(candidate.ended(), false, result);
        return result;
      }
      if (at(reply, 0) == "raise") {
        raised = {};
        read_error(reply, 1, raised);
      }
      try {
        if (at(reply, 0) == "raise") {
          if (!at(reply, 4).empty()) read_marshal(at(reply, 4));
          tester.send({"raise", raised.error_type, at(reply, 3), at(reply, 4)});
          continue;
        }
        if (at(reply, 0) != "value") throw RecordError("no value");
        read_marshal(at(reply, 1));
        tester.send({"value", at(reply, 1)});
      } catch (const RecordError&) {
        odd = true;
        tester.send({"odd"});
      }
      continue;
    }
    done = true;
    if (op == "done") {
      if (calls == 0) result.status = "problem_error", result.note = "the tests never call the candidate";
    } else if (op == "failed" && at(message, 3) == "1") {
      result.error_type = raised.error_type;
      result.error_line = raised.error_line;
      result.error_message = raised.error_message;
    } else if (op == "failed" && calls > 0) {
      result.status = "wrong_answer";
      if (at(message, 1) != "AssertionError") result.note = "the tests raised " + at(message, 1);
      result.got = at(message, 2);
    } else if (op == "beyond" && odd) {
      result.status = "wrong_answer";
      result.note = "returned something that is not plain data";
    } else {
      result.status = "problem_error";
      result.note = op == "beyond"   ? "the tests pass " + at(message, 1) + "; set inprocess in the check"
                    : op == "broken" ? "the tests do not compile: " + at(message, 1)
                                     : "the tests failed before they called the candidate: " + at(message, 1);
    }
  }
  candidate.stop();
  if (!done && tester.has_to_repeat()) return std::nullopt;
  if (!done) {
    // The tests ended without their record: an assertion of C++ aborts; anything else the candidate's values
    // may have caused.
    const Ended& ended = tester.ended();
    result.status = calls == 0 ? "problem_error" : "wrong_answer";
    if (ended.end == End::kCpu || ended.end == End::kWall) result.note = "the tests did not come to an end";
  }
  judge_end(candidate.ended(), true, result);
  return result;
}

Result Runner::together_once(const Script& script, const Limits& limits) {
  Result result;
  Child child;
  child.kind = program_.native ? "driver" : "together";
  child.sealed = !program_.native;
  child.own_program = program_.native;
  child.arguments = {"solution.py", script.entry_point, script.call};
  child.limits = limits;
  sandbox::Box& box = lease_.box();
  box.start(child);
  Fields message;
  // Before the program runs the harness says whether the tests compile; nobody is believed that they do not
  // afterwards.
  bool complete = false, begun = program_.native, idle = false, sealed = false;
  while (box.next(message)) {
    const std::string& op = at(message, 0);
    sealed = sealed || op == "sealed";
    complete = complete || op == (program_.native ? "done" : "sealed") || op == "failed";
    if (op == "error") read_error(message, 1, result);
    if (op == "missing") {
      result.status = "interface_error";
      result.note = "`" + script.entry_point + "` is not defined";
    } else if (op == "broken" && !begun) {
      result.status = "problem_error";
      result.note = "the tests do not compile: " + at(message, 1);
    } else if (op == "idle") {
      idle = true;
    } else if (op == "failed" && at(message, 1) != "AssertionError" && at(message, 6) != "0") {
      result.error_type = known_errors().count(at(message, 1)) ? at(message, 1) : "Exception";
      result.error_line = std::atoi(at(message, 6).c_str());
    } else if (op == "failed") {
      result.status = "wrong_answer";
    }
    begun = true;
  }
  const Ended& ended = box.ended();
  constexpr int kAssertionFailed = 86;  // driver.h's word
  if (program_.native && !complete && ended.end == End::kExit && ended.code == kAssertionFailed)
    result.status = "wrong_answer";
  judge_end(ended, complete, result);
  // Only of tests that would have passed: nobody gets out of a failure by saying so.
  if (idle && sealed && result.status == "ok") {
    result.status = "problem_error";
    result.note = "the tests never call the candidate";
  }
  return result;
}

Checked run_checker(Pool& judges, const Program& checker, const std::string& input, const std::string& output,
                    const std::string& answer) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      Lease lease(judges);
      lease.keep(checker);
      Child child;
      child.kind = checker.native ? "binary" : "main";
      child.own_program = checker.native;
      child.arguments = {checker.native ? "./checker" : "checker.py", "input", "output", "answer"};
      child.limits = judge_limits({});
      child.files = {{"input", input}, {"output", output}, {"answer", answer}};
      lease.box().start(child);
      const Ended& ended = lease.box().wait();
      if (ended.end == End::kExit && ended.code == 0) return Checked::kAccepted;
      return ended.end == End::kExit && ended.code == 1 ? Checked::kWrong : Checked::kBroken;
    } catch (const sandbox::Fault&) {
    }
  }
  return Checked::kBroken;
}

}  // namespace leap::verify
