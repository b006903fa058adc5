/// Candidates and references of kernel problems made into programs, inside sandboxes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cudacpu/cudacpu.hpp"
#include "verify/cache.hpp"
#include "verify/kernel_check.hpp"
#include "verify/programs.hpp"

namespace leap::verify::kernel {

/// Makes precompiled headers, and driver and runtime, when they are first asked for, and shares them, sealed,
/// with all compilers. Safe to use from several threads at once.
class Workshop {
 public:
  /// `cache` may be null. It outlives this.
  Workshop(sandbox::Mode mode, const Cache* cache);

  /// A program that runs trials of the candidate. `failed` may also be interface_error. The checked build is
  /// also looked through for what only a CUDA compiler refuses. `lines`: its reports name lines.
  Program candidate(const Check& check, const std::string& source, const cudacpu::Profile& profile,
                    cudacpu::Build build, bool lines);
  Program reference(const Check& check);

  /// What programs depend on besides their text.
  static std::string version();

 private:
  struct Job {
    cudacpu::Recipe recipe;
    std::string text, own, function;  ///< `own`: the text before its translation
    const Check* check;
    bool front_end = false;  ///< also what a CUDA compiler would refuse
  };

  void prepare(const cudacpu::Recipe& recipe);
  using Files = std::vector<std::pair<std::string, std::string>>;
  void prepare(const std::string& name, const std::vector<cudacpu::Prepared>& steps, const Files& sources);
  Files make_prepared(const std::string& name, const std::vector<cudacpu::Prepared>& steps,
                      const Files& sources);
  Program compile(const Job& job);
  Program compile_kept(const Job& job);
  sandbox::Child child_of(const std::vector<std::vector<std::string>>& commands) const;

  sandbox::Mode mode_;
  const Cache* cache_;
  std::optional<Cache> own_store_;  ///< of prepared files, where there is no cache
  Pool pool_;
  std::mutex mutex_;
  std::set<std::string> prepared_;
  Files laid_;  ///< where nothing can be shared: into the directory of every compilation
};

/// What this machine has for kernels beside g++, and what is missing then, for people: a line.
std::string tools_text();

/// The program around solution.cpp, which defines `function`: the entry through which the driver calls it.
std::string entry_of(const Check& check, const std::string& function);

}  // namespace leap::verify::kernel
