#include "training/actions.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "records/records.hpp"

namespace leap::training {
namespace {

/// The member `key` of an object, or null when it is absent or JSON null.
const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw RecordError(where + ": " + what);
}

/// The array `key` of objects; empty when absent.
const Json& items(const Json& object, const char* key, const std::string& where) {
  static const Json kNone = Json::array();
  const Json* value = member(object, key);
  if (value == nullptr) return kNone;
  if (!value->is_array()) fail(where + key, "must be an array");
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_object()) fail(where + key + '[' + std::to_string(i) + ']', "must be an object");
  }
  return *value;
}

std::string place(const std::string& where, const char* key, std::size_t index) {
  return where + key + '[' + std::to_string(index) + "].";
}

std::vector<std::int64_t> ids(const Json& value, const std::string& where) {
  try {
    return jsonl::integers(value);
  } catch (const RecordError& e) {
    fail(where, e.what());
  }
}

std::vector<double> logprobs(const Json& holder, const char* key, std::size_t count,
                             const std::string& where) {
  const Json* value = member(holder, key);
  if (value == nullptr) return {};
  std::vector<double> out;
  try {
    out = jsonl::numbers(*value);
  } catch (const RecordError& e) {
    fail(where + key, e.what());
  }
  if (out.size() != count) {
    fail(where + key, std::to_string(out.size()) + " numbers for " + std::to_string(count) +
                          " completion_ids; the lengths must be equal");
  }
  return out;
}

/// The objects around an action, nearest first.
using Scope = std::vector<const Json*>;

/// `sampling.key` of the nearest object that has it.
const Json* sampled(const Scope& scope, const char* key) {
  for (const Json* object : scope) {
    const Json* sampling = member(*object, "sampling");
    const Json* value = sampling == nullptr ? nullptr : member(*sampling, key);
    if (value != nullptr) return value;
  }
  return nullptr;
}

class Extractor {
 public:
  Extractor(const Json& record, const ActionOptions& options, TextEncoder* encoder)
      : record_(record), options_(options), encoder_(encoder) {}

  std::vector<Action> run() {
    if (options_.sft) {
      sft();
    } else if (options_.train == Train::kTurns) {
      turns();
    } else {
      decompositions();
    }
    return std::move(actions_);
  }

 private:
  void turns() {
    const Json& rollouts = items(record_, "rollouts", "");
    for (std::size_t r = 0; r < rollouts.size(); ++r) {
      const Json& rollout = rollouts[r];
      const auto reward = rollout.find("reward");
      if (reward != rollout.end() && reward->is_null()) continue;
      const std::string where = place("", "rollouts", r);
      const Json& turns = items(rollout, "turns", where);
      const std::size_t first = actions_.size();
      for (std::size_t t = 0; t < turns.size(); ++t) {
        sampled_action({&turns[t], &rollout, &record_}, place(where, "turns", t));
      }
      for (std::size_t a = first; options_.per_rollout && a < actions_.size(); ++a) {
        actions_[a].weight = 1.0 / static_cast<double>(actions_.size() - first);
      }
    }
  }

  void decompositions() {
    const Json& all = items(record_, "decompositions", "");
    for (std::size_t d = 0; d < all.size(); ++d) {
      const std::string where = place("", "decompositions", d);
      if (options_.train == Train::kDecomposition) {
        sampled_action({&all[d], &record_}, where);
        continue;
      }
      const Json& functions = items(all[d], "functions", where);
      for (std::size_t f = 0; f < functions.size(); ++f) {
        const std::string inside = place(where, "functions", f);
        const Json& choices = items(functions[f], "implementations", inside);
        for (std::size_t i = 0; i < choices.size(); ++i) {
          sampled_action({&choices[i], &all[d], &record_}, place(inside, "implementations", i));
        }
      }
    }
  }

  /// The member itself is the first of `scope`. It is an action when it has a number `advantage` and ids.
  void sampled_action(const Scope& scope, const std::string& where) {
    const Json& holder = *scope.front();
    const Json* advantage = member(holder, "advantage");
    const Json* completion = member(holder, "completion_ids");
    if (advantage == nullptr || completion == nullptr) return;
    if (!advantage->is_number()) fail(where + "advantage", "must be a number");
    Action action;
    action.completion = ids(*completion, where + "completion_ids");
    if (action.completion.empty()) return;
    const Json* prompt = member(holder, "prompt_ids");
    if (prompt == nullptr)
      fail(where + "prompt_ids", "missing; completion_ids cannot be scored without them");
    action.prompt = ids(*prompt, where + "prompt_ids");
    action.advantage = advantage->get<double>();
    action.temperature = temperature(scope, where);
    action.logprobs = logprobs(holder, "logprobs", action.completion.size(), where);
    if (!serves_as_old(scope, action.temperature)) action.logprobs.clear();
    add(std::move(action), scope, where);
  }

  double temperature(const Scope& scope, const std::string& where) {
    double value = options_.temperature;
    if (const Json* recorded = sampled(scope, "temperature")) {
      if (!recorded->is_number()) fail(where + "sampling.temperature", "must be a number");
      value = recorded->get<double>();
    }
    if (!(value >= 0)) fail(where + "sampling.temperature", "must not be negative");
    return value == 0 ? 1 : value;
  }

  /// Only log-probs at the sampling temperature over the whole vocabulary are the old policy's.
  static bool serves_as_old(const Scope& scope, double temperature) {
    const Json* mode = sampled(scope, "logprobs_mode");
    if (mode == nullptr) return true;
    return *mode == "scaled" || (*mode == "raw" && temperature == 1);
  }

  void sft() {
    if (member(record_, "solutions") != nullptr) {
      const Json& solutions = items(record_, "solutions", "");
      for (std::size_t s = 0; s < solutions.size(); ++s) {
        example({&solutions[s], &record_}, place("", "solutions", s));
      }
      return;
    }
    const Json& rollouts = items(record_, "rollouts", "");
    for (std::size_t r = 0; r < rollouts.size(); ++r) {
      const std::string where = place("", "rollouts", r);
      const Json& turns = items(rollouts[r], "turns", where);
      for (std::size_t t = 0; t < turns.size(); ++t) {
        if (!records::is_solved(turns[t])) continue;
        example({&turns[t], &rollouts[r], &record_}, place(where, "turns", t));
        break;
      }
    }
  }

  void example(const Scope& scope, const std::string& where) {
    const Json& holder = *scope.front();
    Action action;
    if (const Json* completion = member(holder, "completion_ids")) {
      action.completion = ids(*completion, where + "completion_ids");
    } else {
      action.completion = encoder(where).completion(text(holder, where));
    }
    if (action.completion.empty()) return;
    if (const Json* prompt = member(holder, "prompt_ids")) {
      action.prompt = ids(*prompt, where + "prompt_ids");
    } else {
      action.prompt = encoder(where).prompt(record_);
    }
    add(std::move(action), scope, where);
  }

  TextEncoder& encoder(const std::string& where) {
    if (encoder_ == nullptr)
      fail(where + "completion_ids", "missing, and there is no tokenizer to make them");
    return *encoder_;
  }

  std::string text(const Json& holder, const std::string& where) {
    for (const char* key : {"completion", "code"}) {
      const Json* value = member(holder, key);
      if (value == nullptr) continue;
      if (!value->is_string()) fail(where + key, "must be a string");
      auto written = value->get<std::string>();
      if (std::string(key) == "completion") return written;
      if (!written.empty() && written.back() != '\n') written += '\n';
      return "```" + language() + '\n' + written + "```";
    }
    fail(where + "completion", "missing; a solution needs completion_ids, completion or code");
  }

  std::string language() {
    const Json* task = member(record_, "task");
    const Json* value = task == nullptr ? nullptr : member(*task, "language");
    return value != nullptr && value->is_string() ? value->get<std::string>() : "python";
  }

  void add(Action action, const Scope& scope, const std::string& where) {
    const Json& holder = *scope.front();
    if (action.prompt.empty()) {
      fail(where + "prompt_ids", "empty; the first completion id needs at least one id before it");
    }
    action.ref_logprobs = logprobs(holder, "ref_logprobs", action.completion.size(), where);
    const Json* finish = member(holder, "finish_reason");
    action.truncated = finish != nullptr && *finish == "length";
    action.masked = action.truncated && options_.mask_truncated;
    const auto recorded = [&scope](const char* key, std::int64_t otherwise) {
      const Json* value = sampled(scope, key);
      return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : otherwise;
    };
    action.max_tokens = recorded("max_tokens", 0);
    action.weight_version = recorded("weight_version", -1);
    actions_.push_back(std::move(action));
  }

  const Json& record_;
  const ActionOptions& options_;
  TextEncoder* encoder_;
  std::vector<Action> actions_;
};

}  // namespace

std::vector<Action> actions_of(const Json& record, const ActionOptions& options, TextEncoder* encoder) {
  return Extractor(record, options, encoder).run();
}

}  // namespace leap::training
