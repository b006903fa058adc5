#include "decomp/parsers.hpp"

#include "base/error.hpp"
#include "records/records.hpp"

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

}  // namespace

Parsers::Parsers(sandbox::Mode mode)
    : python_(settings_of(mode, kSplitPython)), cpp_(settings_of(mode, kSplitCpp)) {}

Json Parsers::ask(const std::string& language, const Json& request) {
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

std::string language_of(const Json& task) {
  const std::string_view language = records::text_of(task, "language");
  if (language.empty()) return "python";
  if (language != "python" && language != "cpp")
    throw RecordError("task.language: decompositions are made in python and cpp, not in " +
                      std::string(language));
  return std::string(language);
}

const Json& task_of(const Json& record) {
  static const Json kNone = Json::object();
  const Json* task = records::find(record, "task");
  return task != nullptr && task->is_object() ? *task : kNone;
}

}  // namespace leap::decomp
