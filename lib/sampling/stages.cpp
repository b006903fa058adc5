#include "sampling/stages.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "records/code.hpp"
#include "records/records.hpp"

namespace leap::sampling {

extern const char kDecomposePython[];
extern const char kDecomposeCpp[];
extern const char kImplementPython[];
extern const char kImplementCpp[];

namespace {

std::string at(const char* name, std::size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

/// The array `name` of `object`, null when it is absent, null or empty.
const Json* list_of(const Json& object, const char* name, const std::string& where) {
  const Json* list = records::find(object, name);
  if (list == nullptr || list->is_null()) return nullptr;
  if (!list->is_array()) throw RecordError(where + name + ": must be an array");
  return list->empty() ? nullptr : list;
}

bool has_error(const Json& decomposition) {
  const Json* error = records::find(decomposition, "error");
  return error != nullptr && !error->is_null();
}

/// A function that has no implementations yet.
struct Target {
  std::size_t decomposition, function;
};

std::vector<Target> targets_of(const Json& record) {
  std::vector<Target> targets;
  const Json* all = list_of(record, "decompositions", "");
  for (std::size_t d = 0; all != nullptr && d < all->size(); ++d) {
    const Json& decomposition = (*all)[d];
    const std::string where = at("decompositions", d);
    if (!decomposition.is_object()) throw RecordError(where + ": must be an object");
    if (has_error(decomposition)) continue;
    if (records::find(decomposition, "functions") == nullptr)
      throw RecordError(where + ".functions: missing; decomp-split(1) writes them");
    const Json* functions = list_of(decomposition, "functions", where + ".");
    for (std::size_t f = 0; functions != nullptr && f < functions->size(); ++f) {
      const std::string inner = where + "." + at("functions", f);
      if (!(*functions)[f].is_object()) throw RecordError(inner + ": must be an object");
      if (list_of((*functions)[f], "implementations", inner + ".") == nullptr) targets.push_back({d, f});
    }
  }
  return targets;
}

const Json& task_of(const Json& record) {
  static const Json kNone = Json::object();
  const Json* task = records::find(record, "task");
  return task == nullptr ? kNone : *task;
}

std::string language_of(const Json& record) {
  const std::string_view language = records::text_of(task_of(record), "language");
  if (language.empty()) return "python";
  if (language != "python" && language != "cpp")
    throw RecordError("task.language: decompositions are made in python and cpp, not in " +
                      std::string(language));
  return std::string(language);
}

bool reads_stdin(const Json& record) {
  const Json* check = records::find(task_of(record), "check");
  return check != nullptr && records::text_of(*check, "type") == "stdio";
}

/// The template's lines for this problem.
std::string lines_for(const std::string& form, bool stdio) {
  std::string out;
  for (std::size_t from = 0; from < form.size();) {
    std::size_t end = form.find('\n', from);
    end = end == std::string::npos ? form.size() : end + 1;
    std::string line = form.substr(from, end - from);
    from = end;
    if (line.rfind("@stdin ", 0) == 0) {
      if (stdio) out += line.substr(7);
    } else if (line.rfind("@call ", 0) == 0) {
      if (!stdio) out += line.substr(6);
    } else {
      out += line;
    }
  }
  return out;
}

std::string indented(std::string_view text) {
  std::string out;
  for (char c : strip(text)) {
    out.push_back(c);
    if (c == '\n') out += "    ";
  }
  return out;
}

std::string stub_of(const Json& function, const std::string& language) {
  const std::string signature(strip(records::text_of(function, "signature")));
  const std::string_view doc = strip(records::text_of(function, "doc"));
  if (language == "cpp") {
    std::string out;
    for (std::string_view rest = doc; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      out.append("// ").append(strip(rest.substr(0, end))).append("\n");
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return out + signature + (!signature.empty() && signature.back() == ';' ? "" : ";");
  }
  std::string out = signature + (!signature.empty() && signature.back() == ':' ? "\n" : ":\n");
  const bool plain = doc.find("\"\"\"") == std::string_view::npos;
  const char* quotes = plain && (doc.empty() || doc.back() != '"') ? "\"\"\"" : "'''";
  const bool raw = doc.find('\\') != std::string_view::npos;
  if (!doc.empty())
    out.append("    ").append(raw ? "r" : "").append(quotes).append(indented(doc)).append(quotes);
  return out + (doc.empty() ? "    ..." : "\n    ...");
}

/// `text` with all white space left out.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') out.push_back(c);
  }
  return out;
}

/// A key stream of its own for each thing that is drawn.
std::string stream_name(const std::string& id, const std::string& what) {
  return id + '\x1f' + what;
}

Request request_of(const Json& record, const std::string& form, const Placeholders& values,
                   const Prompts& prompts) {
  Json conversation = prompts.problem_of(record);
  if (conversation.is_null())
    throw RecordError("prompt: missing; the prompt of a stage is made from the problem's text");
  std::string* problem = nullptr;
  if (conversation.is_string()) {
    problem = &conversation.get_ref<std::string&>();
  } else {
    for (Json& message : conversation) {
      if (message["role"] != "user") continue;
      if (!message["content"].is_string()) throw RecordError("prompt: a user's content must be a string");
      problem = &message["content"].get_ref<std::string&>();
    }
  }
  if (problem == nullptr) throw RecordError("prompt: no message is the user's");
  Placeholders all = values;
  all.emplace_back("{problem}", std::string(strip(*problem)));
  *problem = fill(lines_for(form, reads_stdin(record)), all);
  Prompt prompt = prompts.of(std::move(conversation));
  Request request;
  request.prompt_ids = std::move(prompt.ids);
  request.prompt = std::move(prompt.text);
  return request;
}

Plan plan_decompositions(const Json& record, const StageOptions& options, std::uint64_t count,
                         std::uint64_t seed, const Prompts& prompts) {
  const std::string language = language_of(record);
  const std::string id = stream_name(records::required_id(record), "decomposition");
  const std::string form = !options.form.empty() ? options.form
                           : language == "cpp"   ? kDecomposeCpp
                                                 : kDecomposePython;
  Plan plan;
  Request request =
      request_of(record, form,
                 {{"{language}", language},
                  {"{entry_point}", std::string(records::text_of(task_of(record), "entry_point"))},
                  {"{max_functions}", std::to_string(options.max_functions)}},
                 prompts);
  for (std::uint64_t i = 0; i < count; ++i) request.keys.push_back(draw_key(seed, id, i, 0));
  plan.requests.push_back(std::move(request));
  plan.attach = [](Json& target, std::vector<std::vector<Json>> results) {
    Json made = Json::array();
    for (Json& turn : results[0]) made.push_back(std::move(turn));
    target["decompositions"] = std::move(made);
  };
  return plan;
}

Plan plan_implementations(const Json& record, const StageOptions& options, std::uint64_t count,
                          std::uint64_t seed, const Prompts& prompts) {
  const std::string language = language_of(record);
  const std::string id = records::required_id(record);
  const std::string form = !options.form.empty() ? options.form
                           : language == "cpp"   ? kImplementCpp
                                                 : kImplementPython;
  const Json& all = *list_of(record, "decompositions", "");
  std::vector<Target> targets = targets_of(record);
  Plan plan;
  std::string stubs;
  std::size_t stubs_are_of = all.size();
  for (const auto& [d, f] : targets) {
    if (stubs_are_of != d) stubs = stubs_of(all[d], language);
    stubs_are_of = d;
    const Json& function = all[d]["functions"][f];
    Request request;
    try {
      request = request_of(record, form,
                           {{"{language}", language},
                            {"{entry_point}", std::string(records::text_of(task_of(record), "entry_point"))},
                            {"{max_functions}", std::to_string(options.max_functions)},
                            {"{stubs}", stubs},
                            {"{name}", std::string(records::text_of(function, "name"))},
                            {"{target}", stub_of(function, language)}},
                           prompts);
    } catch (const RecordError& e) {
      throw RecordError(at("decompositions", d) + "." + at("functions", f) + ": " + e.what());
    }
    const std::string stream =
        stream_name(id, "implementation " + std::to_string(d) + " " + std::to_string(f));
    for (std::uint64_t i = 0; i < count; ++i) request.keys.push_back(draw_key(seed, stream, i, 0));
    plan.requests.push_back(std::move(request));
  }
  plan.attach = [targets = std::move(targets), language](Json& target,
                                                         std::vector<std::vector<Json>> results) {
    for (std::size_t t = 0; t < targets.size(); ++t) {
      Json made = Json::array();
      for (Json& turn : results[t]) {
        turn["code"] = records::extract(records::text_of(turn, "completion"), language);
        made.push_back(std::move(turn));
      }
      target["decompositions"][targets[t].decomposition]["functions"][targets[t].function]
            ["implementations"] = std::move(made);
    }
  };
  return plan;
}

}  // namespace

std::string stubs_of(const Json& decomposition, const std::string& language) {
  std::string out;
  const auto add = [&](std::string_view part) {
    part = strip(part);
    if (!part.empty()) out.append(out.empty() ? "" : "\n\n").append(part);
  };
  add(records::text_of(decomposition, "preamble"));
  const Json* functions = list_of(decomposition, "functions", "");
  const std::string declared = language == "cpp" ? squeezed(out) : "";
  for (std::size_t f = 0; functions != nullptr && f < functions->size(); ++f) {
    // C++ functions are usually declared in the preamble.
    const std::string signature = squeezed(records::text_of((*functions)[f], "signature"));
    if (declared.empty() || declared.find(signature) == std::string::npos)
      add(stub_of((*functions)[f], language));
  }
  add(records::text_of(decomposition, "main"));
  return out;
}

bool wants(const Json& record, Stage stage) {
  if (stage == Stage::kDecompose) return list_of(record, "decompositions", "") == nullptr;
  if (stage == Stage::kImplement) return !targets_of(record).empty();
  return wants_turns(record);
}

Plan plan_of(const Json& record, const StageOptions& options, std::uint64_t count, std::uint64_t seed,
             const Prompts& prompts) {
  if (options.stage == Stage::kDecompose) return plan_decompositions(record, options, count, seed, prompts);
  if (options.stage == Stage::kImplement) return plan_implementations(record, options, count, seed, prompts);
  return plan_turns(record, count, seed, prompts);
}

}  // namespace leap::sampling
