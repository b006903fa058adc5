#include "verify/tester.hpp"

#include "verify/limits.hpp"

namespace leap::verify {

using sandbox::Fields;

namespace {

constexpr double kSeriesWallS = 3600;  ///< a process that runs many tests waits much

/// The last field of the end of tests in Python.
bool says_plain(const Fields& message) {
  return message.size() > 1 && message.back() == "1";
}

}  // namespace

Tester::Tester(Pool& judges, const Script& script)
    : judges_(judges),
      script_(script),
      judge_(judges, true),
      alone_(script.native.native || !judges.tests_are_plain) {}

void Tester::start(const sandbox::Limits& limits) {
  limits_ = judge_limits(limits);
  called_ = false;
  alone_ = alone_ || repeat_;
  repeat_ = false;
  judge_.leave_running(false);
  if (alone_) return start_alone();
  sandbox::Box& box = judge_.box();
  if (!box.running()) {
    sandbox::Child child;
    child.kind = "tests";
    child.limits = limits_;
    child.limits.wall_s = kSeriesWallS;
    box.start(child);
  }
  box.send({script_.source, script_.entry_point, script_.call});
}

void Tester::start_alone() {
  sandbox::Box& box = judge_.box();
  if (box.running()) box.stop();
  alone_ = true;
  if (script_.native.native)
    judge_.keep(script_.native);
  else
    judge_.keep("test", script_.source);
  sandbox::Child child;
  child.kind = script_.native.native ? "driver" : "test";
  child.own_program = script_.native.native;
  child.arguments = {"tests.py", script_.entry_point, script_.call};
  child.limits = limits_;
  box.start(child);
}

bool Tester::next(Fields& message) {
  bool more = judge_.box().next(message);
  if (!more && !alone_ && !called_) {
    judges_.tests_are_plain = false;
    start_alone();
    more = judge_.box().next(message);
  }
  if (!more) {
    // Tests that end a process of many should not do it twice.
    if (!alone_) judges_.tests_are_plain = false;
    repeat_ = !alone_;
    return false;
  }
  if (message[0] == "call") {
    called_ = true;
  } else if (!alone_ && says_plain(message)) {
    judge_.leave_running(true);
  } else if (!alone_) {
    repeat_ = true;
    end();
    return false;
  } else {
    if (!script_.native.native && says_plain(message)) judges_.tests_are_plain = true;
    end();
  }
  return true;
}

void Tester::dismiss(bool called) {
  Fields message;
  sandbox::Box& box = judge_.box();
  if (!alone_ && !called) {
    // They get as far as their first call, or to their end.
    if (!box.next(message)) return;
    if (message[0] != "call") return judge_.leave_running(says_plain(message));
  }
  if (!alone_) {
    box.send({"leave"});
    if (box.next(message) && message[0] == "left") return judge_.leave_running(true);
  }
  end();
}

void Tester::end() {
  sandbox::Box& box = judge_.box();
  if (box.running()) box.stop();
}

}  // namespace leap::verify
