#include "decomp/engine.hpp"

#include <chrono>
#include <map>

#include "base/error.hpp"
#include "base/random.hpp"
#include "decomp/sample.hpp"
#include "records/records.hpp"
#include "verify/verify.hpp"

namespace leap::decomp {
namespace {

using records::find;
using records::text_of;

char letter_of(std::string_view status) {
  static const std::map<std::string_view, char> letters = {
      {"ok", 'P'},          {"wrong_answer", 'W'}, {"no_output", 'W'},       {"compile_error", 'C'},
      {"no_code", 'W'},     {"timeout", 'T'},      {"compile_timeout", 'T'}, {"out_of_memory", 'M'},
      {"output_limit", 'O'}};
  const auto found = letters.find(status);
  return found == letters.end() ? 'E' : found->second;
}

}  // namespace

class Engine::Impl {
 public:
  explicit Impl(EngineOptions options)
      : options_(options), verifier_(verify::Options{options.sandbox, false, ""}) {}

  Recombination evaluate(const Decomposition& decomposition, const Json& task, const std::string& id,
                         std::size_t index) {
    const auto begin = std::chrono::steady_clock::now();
    Recombination out;
    out.mode = "run";
    out.programs = program_count(decomposition);
    const std::vector<Json> tests = tests_of(task);
    out.tests = tests.size();
    std::vector<int> sizes;
    for (const Function& function : decomposition.functions)
      sizes.push_back(static_cast<int>(function.implementations.size()));
    if (out.programs == 0) return out;
    out.wanted = options_.programs == 0 ? out.programs : std::min(options_.programs, out.programs);
    const auto choices = balanced_sample(sizes, out.wanted, draw_key(options_.seed, id, index, 0));
    std::vector<std::pair<Cell, std::string>> cells;
    std::size_t best = 0;
    for (const std::vector<int>& choice : choices) {
      const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (options_.budget_s > 0 && elapsed > options_.budget_s) break;
      const std::string text = program_text(decomposition, choice);
      std::string outcomes;
      std::size_t passed = 0;
      for (const Json& test : tests) {
        const Json verdict = verifier_.verdict(test, text);
        ++out.runs;
        if (const Json* measured = find(verdict, "measured"))
          if (const Json* cpu = find(*measured, "cpu_s")) out.cpu_s += cpu->get<double>();
        outcomes += letter_of(text_of(verdict, "status"));
        passed += outcomes.back() == 'P';
        if (outcomes.back() != 'P' && !options_.all_outcomes) break;
      }
      out.solved += passed == tests.size();
      if (out.best.empty() || passed > best) out.best = choice, best = passed;
      Cell cell(sizes.size());
      for (std::size_t l = 0; l < sizes.size(); ++l) cell[l].set(static_cast<std::size_t>(choice[l]));
      cells.emplace_back(std::move(cell), std::move(outcomes));
    }
    out.evaluated = cells.size();
    out.settled = out.evaluated == out.wanted;
    out.outcomes = Outcomes(std::move(sizes), cells);
    return out;
  }

 private:
  /// One task for each test.
  static std::vector<Json> tests_of(const Json& task) {
    const Json* check = find(task, "check");
    if (!check || !check->is_object()) throw RecordError("task.check: must be an object");
    if (text_of(*check, "type") == "script") return {task};
    const Json* cases = find(*check, "cases");
    if (!cases || !cases->is_array() || cases->empty())
      throw RecordError("task.check.cases: must be an array of at least one case");
    std::vector<Json> out;
    for (const Json& one : *cases) {
      out.push_back(task);
      out.back()["check"]["cases"] = Json::array({one});
    }
    return out;
  }

  EngineOptions options_;
  verify::Verifier verifier_;
};

Engine::Engine(EngineOptions options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;

Recombination Engine::evaluate(const Decomposition& decomposition, const Json& task, const std::string& id,
                               std::size_t index) {
  return impl_->evaluate(decomposition, task, id, index);
}

}  // namespace leap::decomp
