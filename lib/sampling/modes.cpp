#include "sampling/modes.hpp"

#include <functional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "records/records.hpp"

namespace leap::sampling {
namespace {

std::optional<double> temperature_of(const Json& object) {
  const Json* sampling = records::find(object, "sampling");
  const Json* value = sampling == nullptr ? nullptr : records::find(*sampling, "temperature");
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

/// Calls `visit(action, temperature, where)` for everything in the record that was, or could have been,
/// sampled. `temperature` is the nearest enclosing one.
template <class J, class Visit>
void each_action(J& record, double fallback, const Visit& visit) {
  using Temperature = double;
  const auto each = [](J& parent, const char* name, const std::string& where, const auto& with) {
    auto* list = records::find(parent, name);
    if (list == nullptr || !list->is_array()) return;
    for (std::size_t i = 0; i < list->size(); ++i) {
      if ((*list)[i].is_object()) with((*list)[i], where + name + "[" + std::to_string(i) + "]");
    }
  };
  const Temperature outer = temperature_of(record).value_or(fallback);
  each(record, "rollouts", "", [&](J& rollout, const std::string& at) {
    const Temperature middle = temperature_of(rollout).value_or(outer);
    each(rollout, "turns", at + ".", [&](J& turn, const std::string& where) {
      visit(turn, temperature_of(turn).value_or(middle), where);
    });
  });
  each(record, "solutions", "",
       [&](J& turn, const std::string& where) { visit(turn, temperature_of(turn).value_or(outer), where); });
  each(record, "decompositions", "", [&](J& decomposition, const std::string& at) {
    const Temperature middle = temperature_of(decomposition).value_or(outer);
    visit(decomposition, middle, at);
    each(decomposition, "functions", at + ".", [&](J& function, const std::string& inner) {
      each(function, "implementations", inner + ".", [&](J& implementation, const std::string& where) {
        visit(implementation, temperature_of(implementation).value_or(middle), where);
      });
    });
  });
}

bool scorable(const Json& action) {
  const Json* prompt = records::find(action, "prompt_ids");
  const Json* completion = records::find(action, "completion_ids");
  return prompt != nullptr && completion != nullptr && !prompt->is_null() && !completion->is_null();
}

const char* target_of(const ScoreOptions& options) {
  return options.reference ? "ref_logprobs" : "logprobs";
}

}  // namespace

bool has_ids(const Json& record) {
  bool any = false;
  each_action(record, 1.0, [&](const Json& action, double, const std::string&) { any |= scorable(action); });
  return any;
}

bool wants_scores(const Json& record, const ScoreOptions& options) {
  bool wanted = false;
  each_action(record, options.temperature, [&](const Json& action, double, const std::string&) {
    if (!scorable(action)) return;
    const Json* have = records::find(action, target_of(options));
    const Json& ids = *records::find(action, "completion_ids");
    wanted |= have == nullptr || !jsonl::is_array(*have) || !jsonl::is_array(ids) ||
              jsonl::array_size(*have) != jsonl::array_size(ids);
  });
  return wanted;
}

void score(Json& record, const ScoreOptions& options, Backend& backend) {
  each_action(record, options.temperature, [&](Json& action, double own, const std::string& where) {
    if (!scorable(action)) return;
    const auto ids = [&](const char* name) {
      try {
        return jsonl::integers(*records::find(action, name));
      } catch (const RecordError& e) {
        throw RecordError(where + "." + name + ": " + e.what());
      }
    };
    const auto prompt = ids("prompt_ids"), completion = ids("completion_ids");
    if (prompt.empty()) throw RecordError(where + ".prompt_ids: needs at least one id");
    std::vector<double> logprobs;
    try {
      if (!completion.empty())
        logprobs = backend.score(prompt, completion, options.reference ? own : options.temperature);
    } catch (const RecordError& e) {
      throw RecordError(where + ": " + e.what());
    }
    action[target_of(options)] = jsonl::raw_logprobs(logprobs);
  });
}

TokenizeMode::TokenizeMode(const std::string& dir) : tokenizer_(tokenizer::Tokenizer::load(dir)), dir_(dir) {
  if (tokenizer::ChatTemplate::exists(dir)) chat_ = tokenizer::ChatTemplate::load(dir);
}

void TokenizeMode::process(Json& line) const {
  const auto flag = [&](const char* name, bool standard) {
    const Json* value = records::find(line, name);
    if (value == nullptr || value->is_null()) return standard;
    if (!value->is_boolean()) throw RecordError(std::string(name) + ": must be true or false");
    return value->get<bool>();
  };
  if (const Json* text = records::find(line, "text"); text != nullptr) {
    if (!text->is_string()) throw RecordError("text: must be a string");
    line["ids"] = jsonl::raw_ids(tokenizer_.encode(text->get_ref<const std::string&>(),
                                                   flag("add_special", false), flag("parse_special", true)));
  } else if (const Json* messages = records::find(line, "messages"); messages != nullptr) {
    if (!messages->is_array()) throw RecordError("messages: must be a list");
    if (!chat_) throw RecordError("messages: " + dir_ + " has no chat template");
    tokenizer::EncodedChat encoded = tokenizer::encode_chat(tokenizer_, *chat_, *messages);
    line["prompt"] = std::move(encoded.text);
    line["ids"] = jsonl::raw_ids(encoded.ids);
  } else if (const Json* ids = records::find(line, "ids"); ids != nullptr) {
    try {
      line["text"] = tokenizer_.decode(jsonl::integers(*ids));
    } catch (const RecordError& e) {
      throw RecordError(std::string("ids: ") + e.what());
    }
  } else {
    throw RecordError("none of text, messages and ids is there");
  }
}

bool TokenizeMode::complete(const Json& line) {
  return line.contains("ids") &&
         (line.contains("text") || (line.contains("messages") && line.contains("prompt")));
}

}  // namespace leap::sampling
