#include "decomp/diagnostics.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "records/records.hpp"

namespace leap::decomp {
namespace {

const Json& items(const Json& object, std::string_view name) {
  static const Json kNone = Json::array();
  const Json* list = records::find(object, name);
  return list != nullptr && list->is_array() ? *list : kNone;
}

std::uint64_t tokens_of(const Json& action) {
  const Json* ids = records::find(action, "completion_ids");
  return ids != nullptr && jsonl::is_array(*ids) ? jsonl::array_size(*ids) : 0;
}

bool has_flag(const Json& object, std::string_view flag) {
  const Json& flags = items(object, "flags");
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::uint64_t count_of(const Json& object, std::string_view name) {
  const Json* value = records::find(object, name);
  return value != nullptr && value->is_number_integer() && *value > 0 ? value->get<std::uint64_t>() : 0;
}

/// What one decomposition adds to the figures.
struct One {
  bool unparsed = false, solved = false, trivial = false, used_known = false;
  std::uint64_t functions = 0, used = 0, implementations = 0, distinct = 0, tokens = 0;

  explicit One(const Json& decomposition) {
    const Json* error = records::find(decomposition, "error");
    unparsed = error != nullptr && !error->is_null();
    tokens = tokens_of(decomposition);
    const Json& all = items(decomposition, "functions");
    functions = all.size();
    for (const Json& function : all) {
      std::set<std::string_view> texts;
      const Json& choices = items(function, "implementations");
      for (const Json& choice : choices) {
        texts.insert(records::text_of(choice, "code"));
        tokens += tokens_of(choice);
      }
      implementations += choices.size();
      distinct += texts.size();
    }
    const Json* found = records::find(decomposition, "recombination");
    if (found == nullptr || !found->is_object()) return;
    trivial = has_flag(*found, "trivial");
    solved = count_of(*found, "solved") > 0 && !trivial;
    const Json* known = records::find(*found, "functions_used");
    used_known = known != nullptr && known->is_number_integer();
    if (used_known) used = count_of(*found, "functions_used");
  }
};

Attempts plain_attempts(const Json& record) {
  Attempts out;
  std::uint64_t tokens = 0;
  bool solved = false;
  for (const Json& rollout : items(record, "rollouts")) {
    bool judged = false;
    for (const Json& turn : items(rollout, "turns")) {
      tokens += tokens_of(turn);
      solved = solved || records::is_solved(turn);
      judged = judged || records::find(turn, "verdict") != nullptr;
    }
    // Rollouts that recombination made are none of the policy's.
    if (!judged || records::find(rollout, "recombined") != nullptr) continue;
    out.tokens.push_back(tokens);
    out.solved.push_back(solved);
  }
  return out;
}

Json ratio(double part, double whole) {
  return whole > 0 ? Json(part / whole) : Json(nullptr);
}

/// Share of the problems with attempts that are solved by their first m, and the mean tokens these took.
Json curve(const std::vector<Attempts>& problems) {
  std::size_t longest = 0, with = 0;
  for (const Attempts& one : problems) {
    longest = std::max(longest, one.tokens.size());
    with += one.tokens.empty() ? 0 : 1;
  }
  Json out = Json::array();
  for (std::size_t m = 1; m <= longest; ++m) {
    std::uint64_t tokens = 0, solved = 0;
    for (const Attempts& one : problems) {
      if (one.tokens.empty()) continue;
      const std::size_t last = std::min(m, one.tokens.size()) - 1;
      tokens += one.tokens[last];
      solved += one.solved[last] ? 1 : 0;
    }
    out.push_back({{"attempts", m},
                   {"tokens", ratio(static_cast<double>(tokens), static_cast<double>(with))},
                   {"rate", ratio(static_cast<double>(solved), static_cast<double>(with))}});
  }
  return out;
}

/// Solved by the attempts that take at most `budget` tokens?
bool solved_within(const Attempts& problem, std::uint64_t budget) {
  bool solved = false;
  for (std::size_t m = 0; m < problem.tokens.size() && problem.tokens[m] <= budget; ++m)
    solved = problem.solved[m];
  return solved;
}

Attempts decomposed_attempts(const Json& record) {
  Attempts out;
  std::uint64_t tokens = 0;
  bool solved = false;
  for (const Json& decomposition : items(record, "decompositions")) {
    const One one(decomposition);
    tokens += one.tokens;
    solved = solved || one.solved;
    out.tokens.push_back(tokens);
    out.solved.push_back(solved);
  }
  return out;
}

}  // namespace

Json Diagnostics::line(const Json& record) {
  Diagnostics alone;
  alone.add(record);
  const Attempts& attempts = alone.attempts_[0];
  const Attempts& plain = alone.rollouts_[0];
  const auto parsed = static_cast<double>(alone.decompositions_ - alone.unparsed_);
  Json out = {{"decompositions", alone.decompositions_},
              {"unparsed", alone.unparsed_},
              {"mean_functions", ratio(static_cast<double>(alone.functions_), parsed)},
              {"mean_functions_used",
               ratio(static_cast<double>(alone.used_), static_cast<double>(alone.used_known_))},
              {"single", alone.single_},
              {"single_used", alone.single_used_},
              {"implementations", alone.implementations_},
              {"distinct_implementations", alone.distinct_},
              {"tokens", alone.tokens_},
              {"solved", !attempts.solved.empty() && attempts.solved.back()}};
  if (!plain.tokens.empty()) {
    out["rollouts"] = {{"count", plain.tokens.size()},
                       {"solved", static_cast<bool>(plain.solved.back())},
                       {"tokens", plain.tokens.back()}};
  }
  return out;
}

void Diagnostics::add(const Json& record) {
  Attempts attempts = decomposed_attempts(record), plain = plain_attempts(record);
  std::vector<One> all;
  for (const Json& decomposition : items(record, "decompositions")) all.emplace_back(decomposition);
  const std::lock_guard lock(mutex_);
  for (const One& one : all) {
    ++decompositions_;
    tokens_ += one.tokens;
    trivial_ += one.trivial ? 1 : 0;
    if (one.unparsed) {
      ++unparsed_;
      continue;
    }
    functions_ += one.functions;
    single_ += one.functions == 1 ? 1 : 0;
    implementations_ += one.implementations;
    distinct_ += one.distinct;
    used_known_ += one.used_known ? 1 : 0;
    used_ += one.used;
    single_used_ += one.used_known && one.used == 1 ? 1 : 0;
  }
  attempts_.push_back(std::move(attempts));
  rollouts_.push_back(std::move(plain));
}

Json Diagnostics::json() const {
  const std::lock_guard lock(mutex_);
  const auto all = static_cast<double>(decompositions_);
  const auto parsed = static_cast<double>(decompositions_ - unparsed_);
  Json out = {
      {"decompositions", decompositions_},
      {"share_unparsed", ratio(static_cast<double>(unparsed_), all)},
      {"mean_functions", ratio(static_cast<double>(functions_), parsed)},
      {"mean_functions_used", ratio(static_cast<double>(used_), static_cast<double>(used_known_))},
      {"share_single", ratio(static_cast<double>(single_), parsed)},
      {"share_single_used", ratio(static_cast<double>(single_used_), static_cast<double>(used_known_))},
      {"trivial", trivial_},
      {"implementations", implementations_},
      {"distinct_implementations",
       ratio(static_cast<double>(distinct_), static_cast<double>(implementations_))},
      {"tokens", tokens_},
      {"solve_rate", {{"decompositions", curve(attempts_)}, {"rollouts", curve(rollouts_)}}}};
  std::int64_t both = 0, difference = 0;
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (attempts_[i].tokens.empty() || rollouts_[i].tokens.empty()) continue;
    const std::uint64_t budget = std::min(attempts_[i].tokens.back(), rollouts_[i].tokens.back());
    ++both;
    difference +=
        (solved_within(rollouts_[i], budget) ? 1 : 0) - (solved_within(attempts_[i], budget) ? 1 : 0);
  }
  out["format_tax"] = ratio(static_cast<double>(difference), static_cast<double>(both));
  return out;
}

}  // namespace leap::decomp
