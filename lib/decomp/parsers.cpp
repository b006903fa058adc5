#include "decomp/parsers.hpp"

#include "base/error.hpp"
#include "records/records.hpp"

namespace leap::decomp {

extern const char kSplitPython[];
extern const char kSplitCpp[];
extern const char kSplitServe[];

namespace {

constexpr int kTooMuch = 3;  // the child's status when a text is nested too deep or too large

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
  child.limits.wall_s = 300;  // it is CPU time that a hard text takes
  verify::Lease lease(language == "cpp" ? cpp_ : python_);
  std::string trouble;
  for (int attempt = 0; attempt < 3; ++attempt) {
    try {
      lease.box().start(child);
      sandbox::Fields message;
      std::string text;
      while (lease.box().next(message)) {
        if (!message.empty()) text = message[0];
      }
      if (!text.empty()) {
        Json answer = jsonl::parse(text);
        const std::string_view missing = records::text_of(answer, "unavailable");
        if (!missing.empty()) throw Error(std::string(missing));
        return answer;
      }
      const sandbox::Ended& ended = lease.box().ended();
      const bool own = ended.end == sandbox::End::kCpu || ended.end == sandbox::End::kMemory ||
                       ended.end == sandbox::End::kSignal || ended.code == kTooMuch;
      if (own) return nullptr;
      trouble = "the parser ended with status " + std::to_string(ended.code) + ": " + ended.err;
    } catch (const sandbox::Fault& fault) {
      trouble = fault.what();
      lease.renew();
    }
  }
  throw Error("code could not be parsed: " + trouble);
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
