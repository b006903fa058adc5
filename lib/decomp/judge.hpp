/// A problem's tests as the engine needs them: inputs, and the letter of what came out.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "decomp/worker_process.hpp"
#include "jsonl/json.hpp"
#include "verify/compare.hpp"
#include "verify/runner.hpp"

namespace leap::decomp {

/// The letter of a verdict's status (advantages.md section 3).
char letter_of_status(std::string_view status);

class Judge {
 public:
  /// RecordError where the task cannot be used.
  explicit Judge(const Json& task);

  std::size_t tests() const { return tests_; }
  /// Python whose output or results are compared here.
  bool plain() const { return plain_; }
  /// C++ whose output is compared here. Where it is neither, only a Verifier can judge: scripts, checkers,
  /// calls of C++.
  bool native() const { return native_; }
  const std::string& standard() const { return standard_; }  ///< of C++
  const sandbox::Limits& limits() const { return limits_; }
  /// The function that is called; empty for stdio.
  const std::string& entry() const { return entry_; }
  const std::vector<TestInput>& inputs() const { return inputs_; }
  /// The task with one test alone.
  Json single(std::size_t test) const;

  /// P or W for what a program put out that ended normally. Equal outputs are compared once.
  char compare(std::size_t test, const std::string& output) const;
  char letter(std::size_t test, const RunResult& result) const;
  char letter(std::size_t test, const verify::Result& result) const;

 private:
  const Json& task_;
  bool plain_ = false, native_ = false, call_ = false;
  std::size_t tests_ = 1;
  std::string entry_, standard_;
  sandbox::Limits limits_;
  verify::Compare how_ = verify::Compare::kTokens;
  double tolerance_ = 0;
  std::vector<TestInput> inputs_;
  std::vector<const Json*> wanted_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unordered_map<std::string, char>> known_;
};

}  // namespace leap::decomp
