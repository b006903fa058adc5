/// Task + code -> verdict. Programs in Python and C++ are run in sandboxes on `stdio`, `call` and `script`
/// checks, CUDA kernels on `kernel` checks (kernel_judge.hpp).
///
/// Theory. The sandboxed candidate never holds an expected value: this process sends one case's input, gets
/// bytes or plain data back and compares. The assertions of a `script` run in another sandbox and reach the
/// candidate only by values that pass through here. Sandboxes are kept warm and reused; between runs their
/// supervisor kills, reaps and empties.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jsonl/json.hpp"
#include "records/code.hpp"
#include "sandbox/box.hpp"
#include "verify/kernel_options.hpp"

namespace leap::verify {

struct Options {
  sandbox::Mode sandbox = sandbox::Mode::kAuto;
  bool first_failure = false;                      ///< stop at the first failing case
  std::string cache{};                             ///< directory of verdicts and compiled programs; "": none
  kernel::Options kernel{};                        ///< its sandbox is the one above
  std::function<void(const std::string&)> warn{};  ///< is told what disturbs, but changes no verdict
};

/// Safe to use from several threads at once.
class Verifier {
 public:
  explicit Verifier(Options options);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  /// The verdict of a program. RecordError where the task cannot be used; Error when there is no sandbox or
  /// no compiler. `id` is the record's: inputs that are drawn depend on it.
  Json verdict(const Json& task, const records::Code& code, std::string_view id = "");
  Json verdict(const Json& task, const std::string& code, std::string_view id = "");

  /// The verdict of one turn (of its code, or `no_code`).
  Json verdict_of_turn(const Json& task, const Json& turn, std::string_view id = "");

  /// What passes all trials of a kernel problem without doing its work, as for `lint`. RecordError as above.
  struct Probes {
    std::vector<std::string> passed_by;
    std::string error;
  };
  Probes probe_kernel(const Json& task, std::string_view id);

  /// Runs every turn of a record, whatever verdict it has: what was run, with what limits, and what came out,
  /// for people. Shows hidden cases.
  std::string explain(const Json& record);

  /// Gives every turn without a verdict one, and every rollout its state. Identical code is run once,
  /// different programs in parallel (TBB). True if anything was done.
  bool verify_record(Json& record);

 private:
  class Judge;
  std::unique_ptr<Judge> judge_;
};

/// The C++ standard that a task's programs are compiled for. RecordError for an unknown one.
std::string cpp_standard_of(const Json& task);

/// Has every turn a verdict?
bool is_verified(const Json& record);

/// Sets `state` of a rollout whose turns have verdicts: `solved`, else `open` where there was none.
void set_state(Json& rollout);

}  // namespace leap::verify
