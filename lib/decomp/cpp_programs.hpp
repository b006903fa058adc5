/// C++ programs of a decomposition, run: many in one binary (cpp_parts.hpp), the rest one by one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decomp/cpp_parts.hpp"
#include "decomp/cpp_server.hpp"
#include "decomp/judge.hpp"
#include "verify/runner.hpp"

namespace leap::decomp {

/// Sandboxes for compilers and programs, shared by all decompositions. Thread-safe.
struct CppSandboxes {
  explicit CppSandboxes(sandbox::Mode mode);
  const sandbox::Mode mode;
  verify::Pool programs, judges, compilers;
  verify::Prelude prelude;
};

/// One decomposition's. After prepare(), all is thread-safe.
class CppPrograms {
 public:
  CppPrograms(CppSandboxes& sandboxes, const Decomposition& decomposition, const Judge& judge);

  /// Reads the implementations and compiles what can be shared; each gets its place for good.
  void prepare();
  CppPart part(std::size_t l, std::size_t j) const;
  /// May these two be in one shared program?
  bool apart(std::size_t l, std::size_t j, std::size_t m, std::size_t i) const;
  /// Why some or all programs are not shared; empty when all are.
  const std::string& why() const { return why_; }
  /// Why runs are not shared between programs; empty when they are.
  const std::string& why_no_tree() const { return parts_.tree; }

  struct Run {
    char letter = '?';           ///< '?': to be found out by the whole program
    std::vector<int> functions;  ///< that it called, in order of their first calls
  };
  /// One test of a shared program.
  Run run(std::size_t test, const std::vector<int>& choice);
  /// How many functions a program that passes all tests needs: those that cannot be replaced by one that
  /// returns {}. Nothing where the shared program cannot tell.
  std::optional<int> functions_used(const std::vector<int>& choice);
  /// The shared program is not believed any more.
  void share_nothing();
  bool shares() const;
  /// Letters of a program compiled as a whole, from test `first` on up to the first failing one, or all.
  std::string whole(const std::vector<int>& choice, std::size_t first, bool all);

  double cpu_s() const { return cpu_s_; }
  std::uint64_t runs() const { return runs_; }

 private:
  bool broken(std::size_t l, std::size_t j);
  void spend(double cpu_s);
  /// One run of the shared program; `calls` as in CppServer::Run. '?' where it is not sure.
  char run_once(std::size_t test, const std::vector<int>& choice, std::string& calls);
  char by_server(std::size_t test, const std::vector<int>& choice, std::string& calls);
  char by_runner(std::size_t test, const std::vector<int>& choice, std::string& calls);
  template <class Kept, class Make>
  std::unique_ptr<Kept> take(std::vector<std::unique_ptr<Kept>>& idle, const Make& make);
  template <class Kept>
  void give(std::vector<std::unique_ptr<Kept>>& idle, std::unique_ptr<Kept> kept);
  bool is_near_limit(double cpu_s) const;

  CppSandboxes& sandboxes_;
  const Decomposition& decomposition_;
  const Judge& judge_;
  CppParts parts_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  ///< of the i-th implementation: function, number
  std::string why_;
  verify::Program program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<verify::Runner>> idle_;
  std::vector<std::unique_ptr<CppServer>> idle_servers_;
  double cpu_s_ = 0;
  std::atomic<std::uint64_t> runs_{0};
};

}  // namespace leap::decomp
