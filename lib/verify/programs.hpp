/// Programs made ready to run, and the warm sandboxes that they run in.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/box.hpp"

namespace leap::verify {

struct Program {
  bool native = false;  ///< a binary, else Python byte code
  bool source = false;  ///< Python as text, to be compiled where it runs
  std::string bytes;
  double compile_s = 0;
  std::string failed;      ///< compile_error or compile_timeout; empty when it is ready
  std::string message;     ///< the compiler's, without paths
  bool in_driver = false;  ///< what fails is the use of the program, not its text
  int line = 0;            ///< of the first error, 0 when unknown
  bool unsure = false;     ///< another try may end otherwise
};

/// Sandboxes that are idle. One pool never mixes code of candidates with code of problems.
class Pool {
 public:
  explicit Pool(sandbox::Settings settings) : settings_(std::move(settings)) {}
  std::unique_ptr<sandbox::Box> take();
  std::unique_ptr<sandbox::Box> fresh() const;
  void give(std::unique_ptr<sandbox::Box> box);
  /// Sandboxes from now on hold `bytes` as a sealed file of this name.
  void share(const std::string& name, std::string_view bytes);
  ~Pool();

  /// The last tests were of the kind that can be run one after another in one process: a guess at the next.
  std::atomic<bool> tests_are_plain{true};

 private:
  sandbox::Settings settings_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<sandbox::Box>> idle_;
};

/// A sandbox held for a while, with programs kept in it; the next holder finds none of them.
class Lease {
 public:
  /// `takes_over`: a child that the last holder has left running goes on.
  explicit Lease(Pool& pool, bool takes_over = false);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void keep(const std::string& name, const std::string& bytes);
  void keep(const Program& program);
  sandbox::Box& box() { return *box_; }
  /// After a fault: another sandbox, never used before, with the same programs.
  void renew();
  /// Whether a child that runs at the end of the lease is left to the next holder, where nothing is kept.
  void leave_running(bool stays) { child_stays_ = stays; }

 private:
  Pool& pool_;
  std::unique_ptr<sandbox::Box> box_;
  std::vector<std::pair<std::string, std::string>> kept_;
  std::string native_;  ///< a kept program of the system
  bool child_stays_ = false;
};

/// Whose code a sandbox of Python is for: policies' programs, or problems' tests and checkers.
enum class Guests { kCandidates, kJudges };

/// A sandbox where Python runs, with the harness as extension of its supervisor.
sandbox::Settings harness_settings(sandbox::Mode mode, Guests guests);

/// All of the harness's source: what verdicts depend on.
std::string harness_text();

/// The compiler's words about the candidate's file, solution.cpp: without paths of the machine, about 1,500
/// bytes. `line` gets that of the first error, if it is 0.
std::string compiler_message(const std::string& raw, int& line);

/// Byte code; a syntax error is `failed`.
Program compile_python(Pool& pool, const std::string& source);

struct CppSource {
  std::string name, text;
};

/// <bits/stdc++.h> compiled before it is needed: four times faster for programs that begin with it. Made
/// once, for the first standard that enough programs ask for.
class Prelude {
 public:
  /// Counts this program. True when it will be compiled with the header ready.
  bool serves(Pool& pool, const std::string& source, const std::string& standard);

 private:
  std::mutex mutex_;
  std::string standard_;
  int seen_ = 0;
  enum class State { kNone, kMaking, kReady } state_ = State::kNone;
};

/// Does a C++ program begin with #include <bits/stdc++.h>, but for comments and empty lines?
bool begins_with_all_headers(std::string_view source);

/// Compiles the first of `sources` (the others are there to be included; a library .a is linked) by g++.
/// `standard` is e.g. "gnu++20".
Program compile_cpp(Pool& pool, const std::vector<CppSource>& sources, const std::string& standard,
                    Prelude* prelude = nullptr);

}  // namespace leap::verify
