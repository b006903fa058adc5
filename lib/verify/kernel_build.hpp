/// Candidates and references of kernel problems made into programs, inside sandboxes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cudacpu/cudacpu.hpp"
#include "verify/cache.hpp"
#include "verify/kernel_check.hpp"
#include "verify/programs.hpp"

namespace leap::verify::kernel {

/// Makes precompiled header, runtime and driver when a build is first asked for, and shares them, sealed,
/// with all compilers. Safe to use from several threads at once.
class Workshop {
 public:
  /// `cache` may be null. It outlives this.
  Workshop(sandbox::Mode mode, const Cache* cache);

  /// A program that runs trials of the candidate. `failed` may also be interface_error.
  /// `front_end`: also look for what only a CUDA compiler refuses.
  Program candidate(const Check& check, const std::string& source, const cudacpu::Profile& profile,
                    cudacpu::Build build, bool front_end);
  Program reference(const Check& check);

  /// What programs depend on besides their text.
  static std::string version();

 private:
  struct Job {
    cudacpu::Build build;
    std::string text, own, function;  ///< `own`: the text before its translation
    const Check* check;
    bool front_end = false;  ///< also what a CUDA compiler would refuse
  };

  void prepare(cudacpu::Build build);
  std::vector<std::pair<std::string, std::string>> make_prepared(cudacpu::Build build);
  Program compile(const Job& job);
  Program compile_kept(const Job& job);
  sandbox::Child child_of(const std::vector<std::vector<std::string>>& commands) const;

  sandbox::Mode mode_;
  const Cache* cache_;
  std::optional<Cache> own_store_;  ///< of prepared files, where there is no cache
  Pool pool_;
  std::mutex mutex_;
  std::map<cudacpu::Build, std::vector<std::pair<std::string, std::string>>> prepared_;
};

/// The program around solution.cpp, which defines `function`: the entry through which the driver calls it.
std::string entry_of(const Check& check, const std::string& function);

}  // namespace leap::verify::kernel
