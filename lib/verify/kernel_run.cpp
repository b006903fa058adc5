#include "verify/kernel_run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"

namespace leap::verify::kernel {
namespace {

const std::string& at(const sandbox::Fields& message, std::size_t i) {
  static const std::string none;
  return i < message.size() ? message[i] : none;
}

/// A trial as the driver reads it.
sandbox::Fields message_of(const Check& check, const Trial& trial, unsigned order, int more_calls) {
  sandbox::Fields out = {"trial",
                         std::to_string(trial.number),
                         std::to_string(trial.layout),
                         std::to_string(order),
                         std::to_string(more_calls),
                         std::to_string(trial.poison),
                         ""};
  for (std::size_t i = 0; i < check.arguments.size(); ++i) {
    const Argument& argument = check.arguments[i];
    const Input& input = trial.inputs[i];
    std::string& spec = out[6];
    if (!argument.is_buffer()) {
      char text[80];
      const double real = number_at(argument.type, input.bytes.data());
      std::snprintf(text, sizeof text, "v %lld %a\n",
                    is_float(argument.type)
                        ? 0LL
                        : static_cast<long long>(integer_at(argument.type, input.bytes.data())),
                    real);
      spec += text;
      continue;
    }
    spec += argument.role == Role::kIn ? "i " : argument.role == Role::kOut ? "o " : "b ";
    spec += std::to_string(input.count) + " " + std::to_string(size_of(argument.type)) +
            (is_float(argument.type) ? " 1\n" : " 0\n");
    if (argument.role != Role::kOut) out.push_back(input.bytes);
  }
  return out;
}

/// Appends a part of an output; false where it is none that the trial can have.
bool add_part(const Check& check, const Trial& trial, const sandbox::Fields& message, TrialRun& run) {
  const auto argument = static_cast<std::size_t>(std::strtoul(at(message, 1).c_str(), nullptr, 10));
  if (argument >= check.arguments.size() || !check.arguments[argument].is_output()) return false;
  const std::size_t size = trial.inputs[argument].count * size_of(check.arguments[argument].type);
  std::string* to = &run.outputs[argument];
  if (at(message, 0) == "again") {
    const bool begins =
        run.again.empty() || run.again.back().first != argument || run.again.back().second.size() == size;
    if (begins && run.again.size() >= 1000) return false;
    if (begins) run.again.emplace_back(argument, "");
    to = &run.again.back().second;
  }
  if (to->size() + at(message, 2).size() > size) return false;
  to->append(at(message, 2));
  return true;
}

void read_done(const std::string& text, std::size_t arguments, TrialRun& run) {
  int behind = 0, threw = 0;
  std::sscanf(text.c_str(), "%ld %ld %d %d %ld %d %d %d", &run.launches, &run.launches_of_none,
              &run.host_wrote, &run.mutated, &run.mutated_at, &run.guard, &behind, &threw);
  for (int* index : {&run.host_wrote, &run.mutated, &run.guard})
    if (*index >= static_cast<int>(arguments)) *index = -1;
  run.guard_behind = behind != 0;
  run.threw = threw != 0;
}

}  // namespace

Run run_trials(Lease& lease, const Check& check, const std::vector<const Trial*>& trials,
               const RunSettings& settings, const std::function<bool(const TrialRun&)>& go_on) {
  constexpr std::size_t kMaxReports = 20;
  Run out;
  sandbox::Child child;
  child.kind = "driver";
  child.own_program = true;
  child.arguments = {"./solution", std::to_string(settings.workers), std::to_string(settings.arch),
                     std::to_string(settings.memory_mb)};
  child.limits = settings.limits;
  child.limits.reserves = true;
  sandbox::Box& box = lease.box();
  box.start(child);
  sandbox::Fields message;
  // A program that ends before the driver is ready ends in its first trial.
  bool ready = box.next(message) && at(message, 0) == "ready";
  for (std::size_t t = 0; t < trials.size(); ++t) {
    const Trial& trial = *trials[t];
    TrialRun& run = out.trials.emplace_back();
    run.outputs.resize(check.arguments.size());
    if (!ready || !box.running()) break;
    const int more = trial.number < settings.more_calls.size() ? settings.more_calls[trial.number] : 0;
    box.send(message_of(check, trial, settings.order, more));
    while (!run.done && box.next(message)) {
      if (at(message, 0) == "report" && run.reports.size() < kMaxReports) {
        run.reports.push_back({at(message, 1), std::max(0, std::atoi(at(message, 2).c_str())),
                               shorten(to_utf8(at(message, 3)), 100), shorten(to_utf8(at(message, 4)), 300)});
      } else if (at(message, 0) == "out" || at(message, 0) == "again") {
        if (!add_part(check, trial, message, run)) box.stop();
      } else if (at(message, 0) == "done" && at(message, 1) == std::to_string(trial.number)) {
        read_done(at(message, 2), check.arguments.size(), run);
        run.done = true;
      }
    }
    if (!run.done) break;
    // What lacks bytes was not sent by the driver.
    for (std::size_t i = 0; i < check.arguments.size(); ++i)
      if (check.arguments[i].is_output())
        run.outputs[i].resize(trial.inputs[i].count * size_of(check.arguments[i].type));
    if (!go_on(run)) break;
  }
  out.ended = box.stop();
  return out;
}

}  // namespace leap::verify::kernel
