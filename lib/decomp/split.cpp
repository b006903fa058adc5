#include "decomp/split.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "records/code.hpp"
#include "records/records.hpp"
#include "verify/programs.hpp"

namespace leap::decomp {

extern const char kSplitPython[];
extern const char kSplitCpp[];
extern const char kSplitServe[];

namespace {

sandbox::Settings settings_of(sandbox::Mode mode, const char* language_source) {
  sandbox::Settings settings;
  settings.mode = mode;
  settings.extension = std::string(language_source) + "\n" + kSplitServe;
  return settings;
}

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

const Json& task_of(const Json& record) {
  static const Json kNone = Json::object();
  const Json* task = records::find(record, "task");
  return task != nullptr && task->is_object() ? *task : kNone;
}

std::string language_of(const Json& task) {
  const std::string_view language = records::text_of(task, "language");
  if (language.empty()) return "python";
  if (language != "python" && language != "cpp")
    throw RecordError("task.language: decompositions are made in python and cpp, not in " +
                      std::string(language));
  return std::string(language);
}

std::string code_of(const Json& decomposition, const std::string& language) {
  const Json* code = records::find(decomposition, "code");
  if (code != nullptr && code->is_string()) return code->get<std::string>();
  return records::extract(records::text_of(decomposition, "completion"), language);
}

}  // namespace

/// Warm sandboxes, one kind a language.
class Splitter::Parsers {
 public:
  explicit Parsers(sandbox::Mode mode)
      : python_(settings_of(mode, kSplitPython)), cpp_(settings_of(mode, kSplitCpp)) {}

  /// What the child answers, null when it could not.
  Json ask(const std::string& language, const Json& request) {
    sandbox::Child child;
    child.kind = "split";
    child.input = jsonl::dump(request);
    child.limits.file_mb = 64;  // libclang's precompiled header
    verify::Lease lease(language == "cpp" ? cpp_ : python_);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        lease.box().start(child);
        sandbox::Fields message;
        std::string text;
        while (lease.box().next(message)) {
          if (!message.empty()) text = message[0];
        }
        Json answer = text.empty() ? Json() : jsonl::parse(text);
        const std::string_view missing = records::text_of(answer, "unavailable");
        if (!missing.empty()) throw Error(std::string(missing));
        return answer;
      } catch (const sandbox::Fault&) {
        lease.renew();
      }
    }
    return nullptr;
  }

 private:
  verify::Pool python_, cpp_;
};

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
