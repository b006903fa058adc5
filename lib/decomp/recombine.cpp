#include "decomp/recombine.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "decomp/diagnostics.hpp"
#include "decomp/gaming.hpp"
#include "records/code.hpp"
#include "records/records.hpp"

namespace leap::decomp {
namespace {

std::string at(const char* name, std::size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

/// The array of objects `name` of `object`; null when it is absent or null.
const Json* objects(const Json& object, const char* name, const std::string& where) {
  const Json* list = records::find(object, name);
  if (list == nullptr || list->is_null()) return nullptr;
  if (!list->is_array()) throw RecordError(where + name + ": must be an array");
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (!(*list)[i].is_object()) throw RecordError(where + at(name, i) + ": must be an object");
  }
  return list;
}

bool has_error(const Json& decomposition) {
  const Json* error = records::find(decomposition, "error");
  return error != nullptr && !error->is_null();
}

std::string code_of(const Json& implementation, const std::string& language) {
  const Json* code = records::find(implementation, "code");
  if (code != nullptr && code->is_string()) return code->get<std::string>();
  return records::extract(records::text_of(implementation, "completion"), language);
}

const char* status_of(std::string_view outcomes) {
  const std::size_t failed = outcomes.find_first_not_of('P');
  switch (failed == std::string_view::npos ? 'P' : outcomes[failed]) {
    case 'P':
      return "ok";
    case 'W':
      return "wrong_answer";
    case 'C':
      return "compile_error";
    case 'T':
      return "timeout";
    case 'M':
      return "out_of_memory";
    case 'O':
      return "output_limit";
    default:
      return "crash";
  }
}

std::size_t passed_of(std::string_view outcomes) {
  return static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), 'P'));
}

EngineOptions for_all(const RecombineOptions& options) {
  EngineOptions engine = options.engine;
  engine.all_outcomes = options.outcomes || options.reward == Reward::kFraction;
  return engine;
}

EngineOptions one_by_one(const RecombineOptions& options) {
  EngineOptions engine;
  engine.mode = Mode::kRun;
  engine.sandbox = options.engine.sandbox;
  return engine;
}

}  // namespace

/// What is known of one decomposition.
struct Recombiner::Found {
  Decomposition decomposition;
  std::vector<std::string> signatures;
  std::optional<Recombination> result;  ///< none for one with an error
  std::vector<std::vector<bool>> redefines;
  bool any_redefines = false;
  std::vector<int> best;
  std::string best_outcomes;
  std::optional<int> used;  ///< functions_used
  bool trivial = false;

  bool clean(const std::vector<int>& choice) const {
    for (std::size_t l = 0; l < choice.size(); ++l) {
      if (choice[l] >= 0 && redefines[l][static_cast<std::size_t>(choice[l])]) return false;
    }
    return true;
  }
  bool solved(std::string_view outcomes) const { return passed_of(outcomes) == result->tests; }
};

Recombiner::Recombiner(RecombineOptions options)
    : options_(std::move(options)),
      engine_(for_all(options_)),
      single_(one_by_one(options_)),
      parsers_(options_.engine.sandbox) {}

Recombiner::~Recombiner() = default;

/// Reads a decomposition and runs its programs.
void Recombiner::evaluate(const Json& source, const Json& task, const std::string& id, std::size_t index,
                          Found& found) {
  const std::string language = language_of(task);
  const Json* functions = objects(source, "functions", "");
  if (functions == nullptr) throw RecordError("functions: missing; decomp-split(1) writes them");
  found.decomposition.preamble = records::text_of(source, "preamble");
  found.decomposition.main = records::text_of(source, "main");
  for (std::size_t l = 0; l < functions->size(); ++l) {
    const Json& one = (*functions)[l];
    Function function;
    function.name = records::text_of(one, "name");
    if (function.name.empty()) throw RecordError(at("functions", l) + ".name: missing");
    found.signatures.emplace_back(records::text_of(one, "signature"));
    const Json* choices = objects(one, "implementations", at("functions", l) + ".");
    for (std::size_t j = 0; choices != nullptr && j < choices->size(); ++j)
      function.implementations.push_back(code_of((*choices)[j], language));
    if (function.implementations.size() > kMaxImplementations)
      throw RecordError(at("functions", l) + ".implementations: at most " +
                        std::to_string(kMaxImplementations) + " can be recombined");
    found.decomposition.functions.push_back(std::move(function));
  }
  found.redefines = redefinitions(found.decomposition, language, parsers_);
  for (const auto& marks : found.redefines)
    found.any_redefines = found.any_redefines || std::find(marks.begin(), marks.end(), true) != marks.end();
  found.result = engine_.evaluate(found.decomposition, task, id, index);
  choose_best(task, found);
}

/// The best program, and whether its functions do the work.
void Recombiner::choose_best(const Json& task, Found& found) {
  Recombination& result = *found.result;
  if (result.best.empty()) return;
  found.best = result.best;
  found.best_outcomes = result.outcomes.at(result.best);
  if (!found.solved(found.best_outcomes)) return;
  if (!options_.allow_redefinition && !found.clean(found.best)) {
    // Another one that earns its reward, if there is any.
    std::vector<int> clean;
    result.outcomes.for_each_box([&](const Box& box) {
      if (!found.solved(box.outcomes) || !found.clean(box.choice)) return true;
      std::vector<int> choice = box.choice;
      for (std::size_t l = 0; l < choice.size(); ++l) {
        const auto& marks = found.redefines[l];
        if (choice[l] < 0)
          choice[l] = static_cast<int>(std::find(marks.begin(), marks.end(), false) - marks.begin());
        if (static_cast<std::size_t>(choice[l]) == marks.size()) return true;
      }
      clean = std::move(choice);
      return false;
    });
    if (!clean.empty()) {
      Decomposition alone = found.decomposition;
      for (std::size_t l = 0; l < clean.size(); ++l) {
        auto& codes = alone.functions[l].implementations;
        codes = {codes[static_cast<std::size_t>(clean[l])]};
      }
      const Recombination again = single_.evaluate(alone, task, "", 0);
      result.runs += again.runs;
      result.cpu_s += again.cpu_s;
      if (again.solved == 1) {
        found.best = clean;
        found.best_outcomes = result.outcomes.at(clean);
      }
    }
  }
  if (found.best == result.best) found.used = result.used;
  if (!found.used)
    found.used = functions_used(found.decomposition, found.signatures, found.best, task, single_, result.runs,
                                result.cpu_s);
  found.trivial = *found.used < options_.min_functions;
}

double Recombiner::reward_of(const Found& found, std::string_view outcomes) const {
  if (found.trivial && !options_.allow_trivial) return 0;
  if (options_.reward == Reward::kSolved) return found.solved(outcomes) ? 1 : 0;
  return found.result->tests == 0
             ? 0
             : static_cast<double>(passed_of(outcomes)) / static_cast<double>(found.result->tests);
}

/// The evaluated programs by reward.
Rewards Recombiner::rewards_of(const Found& found) const {
  Rewards rewards;
  if (!found.result || found.result->evaluated == 0) return rewards;
  const Outcomes& outcomes = found.result->outcomes;
  const auto entry = [&](double reward) -> Rewarded& {
    for (Rewarded& one : rewards) {
      if (one.reward == reward) return one;
    }
    Rewarded fresh{reward, 0, {}};
    for (const int size : outcomes.sizes()) fresh.used.emplace_back(static_cast<std::size_t>(size), 0);
    return rewards.emplace_back(std::move(fresh));
  };
  for (const Outcomes::Tally& tally : outcomes.tally()) {
    Rewarded& one = entry(reward_of(found, tally.outcomes));
    one.programs += tally.programs;
    for (std::size_t l = 0; l < tally.used.size(); ++l) {
      for (std::size_t j = 0; j < tally.used[l].size(); ++j) one.used[l][j] += tally.used[l][j];
    }
  }
  if (!found.any_redefines || options_.allow_redefinition) return rewards;

  // Programs with an implementation that redefines have reward 0: only the others stay where they are.
  Rewards clean;
  clean.push_back({0, 0, {}});
  for (const int size : outcomes.sizes()) clean[0].used.emplace_back(static_cast<std::size_t>(size), 0);
  const auto shift = [](Rewarded& to, const Rewarded& from, int sign) {
    const auto apply = [sign](std::uint64_t& count, std::uint64_t by) { count += sign > 0 ? by : -by; };
    apply(to.programs, from.programs);
    for (std::size_t l = 0; l < to.used.size(); ++l) {
      for (std::size_t j = 0; j < to.used[l].size(); ++j) apply(to.used[l][j], from.used[l][j]);
    }
  };
  for (const Rewarded& one : rewards) shift(clean[0], one, 1);
  outcomes.for_each_box([&](const Box& box) {
    const double reward = reward_of(found, box.outcomes);
    if (reward == 0 || !found.clean(box.choice)) return true;
    Rewarded part{reward, 1, {}};
    std::vector<std::uint64_t> ways;  // choices of a free function that redefine nothing
    for (std::size_t l = 0; l < box.choice.size(); ++l) {
      const auto& marks = found.redefines[l];
      ways.push_back(
          box.choice[l] >= 0 ? 1 : static_cast<std::uint64_t>(std::count(marks.begin(), marks.end(), false)));
      part.programs *= ways.back();
    }
    if (part.programs == 0) return true;
    for (std::size_t l = 0; l < box.choice.size(); ++l) {
      const auto& marks = found.redefines[l];
      part.used.emplace_back(marks.size(), 0);
      for (std::size_t j = 0; j < marks.size(); ++j) {
        const bool used = box.choice[l] < 0 ? !marks[j] : static_cast<int>(j) == box.choice[l];
        if (used) part.used[l][j] = part.programs / ways[l];
      }
    }
    shift(clean[0], part, -1);
    const auto same = std::find_if(clean.begin() + 1, clean.end(),
                                   [&](const Rewarded& one) { return one.reward == reward; });
    if (same == clean.end()) {
      clean.push_back(std::move(part));
    } else {
      shift(*same, part, 1);
    }
    return true;
  });
  return clean;
}

Json Recombiner::recombination_of(const Found& found) const {
  const Recombination& result = *found.result;
  Json out = {{"programs", result.programs}, {"evaluated", result.evaluated}, {"solved", result.solved},
              {"tests", result.tests},       {"settled", result.settled},     {"mode", result.mode}};
  if (!result.why.empty()) out["why"] = result.why;
  if (options_.boxes > 0) {
    Json boxes = Json::array();
    result.outcomes.for_each_box([&](const Box& box) {
      Json one = {{"choice", box.choice},
                  {"programs", box.programs},
                  {"passed", passed_of(box.outcomes)},
                  {"total", result.tests},
                  {"status", status_of(box.outcomes)}};
      if (options_.outcomes) one["outcomes"] = box.outcomes;
      boxes.push_back(std::move(one));
      return boxes.size() < options_.boxes;
    });
    const std::uint64_t all = result.outcomes.box_count(), written = boxes.size();
    out["boxes"] = std::move(boxes);
    if (all > written) out["boxes_omitted"] = all - written;
  } else {
    out["boxes_omitted"] = result.outcomes.box_count();
  }
  out["functions_used"] = found.used ? Json(*found.used) : Json(nullptr);
  out["flags"] = found.trivial ? Json::array({"trivial"}) : Json::array();
  out["measured"] = {{"runs", result.runs}, {"cpu_s", result.cpu_s}};
  if (!found.best.empty()) {
    out["best"] = {{"choice", found.best},
                   {"passed", passed_of(found.best_outcomes)},
                   {"status", status_of(found.best_outcomes)},
                   {"code", program_text(found.decomposition, found.best)}};
  }
  return out;
}

/// Adds the best programs that earned their reward as solved rollouts.
void Recombiner::emit(Json& record, const std::vector<Found>& all) const {
  Json rollouts = Json::array();
  if (const Json* existing = objects(record, "rollouts", "")) {
    for (const Json& rollout : *existing) {
      if (!rollout.contains("recombined")) rollouts.push_back(rollout);
    }
  }
  std::set<std::string> texts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Found& found = all[i];
    if (!found.result || found.best.empty() || !found.solved(found.best_outcomes)) continue;
    if (found.trivial && !options_.allow_trivial) continue;
    if (!options_.allow_redefinition && !found.clean(found.best)) continue;
    std::string text = program_text(found.decomposition, found.best);
    if (!texts.insert(text).second) continue;
    const std::size_t tests = found.result->tests;
    Json turn = {{"code", std::move(text)},
                 {"verdict",
                  {{"status", "ok"},
                   {"stage", "compare"},
                   {"passed", tests},
                   {"total", tests},
                   {"ran", tests},
                   {"cheat", false},
                   {"flags", Json::array()}}}};
    rollouts.push_back({{"turns", Json::array({std::move(turn)})}, {"state", "solved"}, {"recombined", i}});
  }
  record["rollouts"] = std::move(rollouts);
}

void Recombiner::recombine(Json& record) {
  const Json* sources = objects(record, "decompositions", "");
  if (sources == nullptr || sources->empty()) return;
  const std::string id = options_.engine.programs > 0 ? records::required_id(record) : records::id_of(record);
  std::vector<Found> all(sources->size());
  std::vector<std::string> errors(all.size());
  const Json& task = task_of(record);
  for_each_index(all.size(), [&](std::size_t i) {
    if (has_error((*sources)[i])) return;
    try {
      evaluate((*sources)[i], task, id, i, all[i]);
    } catch (const RecordError& e) {
      errors[i] = e.what();
    }
  });
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!errors[i].empty()) throw RecordError(at("decompositions", i) + ": " + errors[i]);
  }

  bool settled = true;
  std::vector<Rewards> group;
  for (const Found& found : all) {
    settled = settled && (!found.result || found.result->settled);
    group.push_back(rewards_of(found));
  }
  const Advantages made = advantages(group, options_.advantage);
  Json& targets = record["decompositions"];
  for (std::size_t i = 0; i < all.size(); ++i) {
    Json& target = targets[i];
    const Found& found = all[i];
    target["advantage"] = settled ? Json(made.decompositions[i]) : Json(nullptr);
    if (!found.result) continue;
    target["recombination"] = recombination_of(found);
    for (std::size_t l = 0; l < found.redefines.size(); ++l) {
      for (std::size_t j = 0; j < found.redefines[l].size(); ++j) {
        Json& implementation = target["functions"][l]["implementations"][j];
        if (found.redefines[l][j]) {
          implementation["flags"] = Json::array({"redefines"});
        } else {
          implementation.erase("flags");
        }
        if (!settled) {
          implementation["advantage"] = nullptr;
        } else if (!made.implementations[i].empty()) {
          implementation["advantage"] = made.implementations[i][l][j];
        } else {
          implementation.erase("advantage");
        }
      }
    }
  }
  if (options_.emit_rollouts) emit(record, all);
  Json diagnostics = Diagnostics::line(record);
  if (!settled) diagnostics["budget_ran_out"] = true;
  record["diagnostics"] = std::move(diagnostics);
}

bool is_recombined(const Json& record) {
  const Json* all = objects(record, "decompositions", "");
  if (all == nullptr) return true;
  for (const Json& decomposition : *all) {
    if (!decomposition.contains("advantage")) return false;
    if (!has_error(decomposition) && !decomposition.contains("recombination")) return false;
  }
  return true;
}

}  // namespace leap::decomp
