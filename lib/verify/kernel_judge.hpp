/// Verdicts of CUDA kernels, run on the CPU: a checked build on the problem's sizes, a fast one on all
/// trials.
///
/// Theory. A trial's inputs follow from hidden seeds. The candidate's process gets them one trial at a time
/// and sends back bytes; the reference runs in another sandbox, after it, on the same inputs, once for all
/// candidates of a problem; this process compares. Driver and candidate share an address space, so bytes are
/// all that a verdict rests on: a candidate can lie about its launches and about who wrote an output (flags),
/// not about the output.
#pragma once

#include <string>
#include <string_view>

#include "records/code.hpp"
#include "verify/kernel_findings.hpp"
#include "verify/kernel_options.hpp"
#include "verify/kernel_problem.hpp"

namespace leap::verify::kernel {

/// Safe to use from several threads at once.
class Judge {
 public:
  /// UsageError for an unknown arch. The cache may be null and outlives this.
  Judge(Options options, const Cache* cache);

  /// `unsure`: another try may end otherwise. `told`, if given, gets the details, for people.
  Json verdict(const Json& check, const records::Code& code, const sandbox::Limits& limits,
               std::string_view id, bool& unsure, std::string* told);

  /// Adds to `passed_by` what passes all trials of a problem without its work: `empty` (outputs as they
  /// were), `zero`, `constant`, `echo` (an input). Returns why that cannot be said, or "".
  std::string probe(const Json& check, std::string_view id, std::vector<std::string>& passed_by);

  /// What a verdict depends on besides task and code.
  std::string stamp() const;

 private:
  struct Kind;
  struct Case;

  bool run_kind(Case& one, Kind& kind);
  bool build_and_run(Case& one, Kind& kind, bool lines);
  void run_from(Case& one, Kind& kind, std::size_t first);
  RunSettings settings_of(const Case& one, const Kind& kind) const;

  Options options_;
  const cudacpu::Profile& profile_;
  Workshop workshop_;
  Pool candidates_, judges_;
  Problems problems_;
};

}  // namespace leap::verify::kernel
