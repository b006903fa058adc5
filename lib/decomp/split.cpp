#include "decomp/split.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "decomp/parsers.hpp"
#include "records/code.hpp"
#include "records/records.hpp"

namespace leap::decomp {

namespace {

const Json* decompositions_of(const Json& record) {
  const Json* all = records::find(record, "decompositions");
  if (all == nullptr || all->is_null()) return nullptr;
  if (!all->is_array()) throw RecordError("decompositions: must be an array");
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (!(*all)[i].is_object())
      throw RecordError("decompositions[" + std::to_string(i) + "]: must be an object");
  }
  return all;
}

bool is_done(const Json& decomposition) {
  const Json* functions = records::find(decomposition, "functions");
  const Json* error = records::find(decomposition, "error");
  return (functions != nullptr && !functions->is_null()) || (error != nullptr && !error->is_null());
}

std::string code_of(const Json& decomposition, const std::string& language) {
  const Json* code = records::find(decomposition, "code");
  if (code != nullptr && code->is_string()) return code->get<std::string>();
  return records::extract(records::text_of(decomposition, "completion"), language);
}

}  // namespace

Splitter::Splitter(SplitOptions options)
    : options_(options), parsers_(std::make_unique<Parsers>(options.sandbox)) {}

Splitter::~Splitter() = default;

void Splitter::split(Json& record) {
  const Json* all = decompositions_of(record);
  const Json task = task_of(record);
  const Json* check = records::find(task, "check");
  const bool stdio = check != nullptr && records::text_of(*check, "type") == "stdio";
  for (std::size_t d = 0; all != nullptr && d < all->size(); ++d) {
    Json& decomposition = record["decompositions"][d];
    if (is_done(decomposition)) continue;
    const std::string language = language_of(task);
    Json parts = parsers_->ask(language, {{"code", code_of(decomposition, language)},
                                          {"stdin", stdio},
                                          {"entry_point", records::text_of(task, "entry_point")},
                                          {"max_functions", options_.max_functions}});
    if (!parts.is_object())
      parts = {{"functions", Json::array()}, {"error", "line 1: too large or too deeply nested to be read"}};
    for (auto& [key, value] : parts.items()) decomposition[key] = std::move(value);
  }
  if (!options_.from_rollouts || all != nullptr) return;

  Json made = Json::array(), codes = Json::array();
  const Json* rollouts = records::find(record, "rollouts");
  const bool any = rollouts != nullptr && rollouts->is_array() && !rollouts->empty();
  const std::string language = any ? language_of(task) : "";
  for (std::size_t r = 0; any && r < rollouts->size(); ++r) {
    const Json* turns = records::find((*rollouts)[r], "turns");
    const bool written = turns != nullptr && turns->is_array() && !turns->empty();
    codes.push_back(written ? Json(records::code_of(turns->back(), task)) : Json());
  }
  const Json groups =
      any ? parsers_->ask(language, {{"codes", codes}, {"max_functions", options_.max_functions}}) : Json();
  for (std::size_t g = 0; groups.is_array() && g < groups.size(); ++g) {
    Json decomposition = groups[g];
    decomposition["from_rollouts"] = decomposition["members"];
    decomposition.erase("members");
    for (Json& function : decomposition["functions"]) {
      Json implementations = Json::array();
      for (std::size_t i = 0; i < function["codes"].size(); ++i) {
        implementations.push_back(
            {{"code", function["codes"][i]}, {"rollout", decomposition["from_rollouts"][i]}});
      }
      function.erase("codes");
      function["implementations"] = std::move(implementations);
    }
    made.push_back(std::move(decomposition));
  }
  record["decompositions"] = std::move(made);
}

bool is_split(const Json& record, const SplitOptions& options) {
  const Json* all = decompositions_of(record);
  if (all == nullptr) return !options.from_rollouts;
  for (const Json& decomposition : *all) {
    if (!is_done(decomposition)) return false;
  }
  return true;
}

}  // namespace leap::decomp
