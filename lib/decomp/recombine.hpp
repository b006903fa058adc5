/// A record's decompositions -> verdicts of all their programs, advantages of every action, best programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "decomp/advantages.hpp"
#include "decomp/engine.hpp"
#include "decomp/parsers.hpp"
#include "jsonl/json.hpp"

namespace leap::decomp {

enum class Reward {
  kSolved,   ///< 1 if every test is passed
  kFraction  ///< share of the tests that are passed
};

struct RecombineOptions {
  EngineOptions engine;        ///< `all_outcomes` is set from the other options
  bool outcomes = false;       ///< run all tests, and write a letter a test
  std::uint64_t boxes = 4096;  ///< most that are written; 0: none
  Reward reward = Reward::kSolved;
  AdvantageOptions advantage{0.3, Scope::kLocal, {}};
  int min_functions = 1;  ///< a best program that needs fewer is trivial
  bool allow_trivial = false;
  bool allow_redefinition = false;
  bool emit_rollouts = false;
};

/// Thread-safe.
class Recombiner {
 public:
  explicit Recombiner(RecombineOptions options);
  ~Recombiner();

  /// Writes `recombination` and `advantage` of every decomposition, `advantage` and `flags` of every
  /// implementation, `diagnostics` of the line. RecordError when the record has not the shape that
  /// leap-records(5) gives; Error when there is no sandbox.
  void recombine(Json& record);

 private:
  struct Found;
  void evaluate(const Json& source, const Json& task, const std::string& id, std::size_t index, Found& found);
  double reward_of(const Found& found, std::string_view outcomes) const;
  void choose_best(const Json& task, Found& found);
  Rewards rewards_of(const Found& found) const;
  Json recombination_of(const Found& found) const;
  void emit(Json& record, const std::vector<Found>& all) const;

  RecombineOptions options_;
  Engine engine_, single_;  ///< of all programs; of one at a time, each run by itself
  Parsers parsers_;
};

/// Has the record what recombine() writes?
bool is_recombined(const Json& record);

}  // namespace leap::decomp
