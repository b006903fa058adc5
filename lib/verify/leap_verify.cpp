#include "verify/leap_verify.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "jsonl/lines.hpp"
#include "records/records.hpp"
#include "sandbox/inspect.hpp"
#include "verify/kernel_build.hpp"
#include "verify/lint.hpp"
#include "verify/summary.hpp"

namespace leap::verify {
namespace {

void print(const std::string& text) {
  jsonl::LineWriter(STDOUT_FILENO, "stdout").write(text);
}

void explain(const cli::StreamOptions& stream, const ToolOptions& options) {
  cli::require_input(stream);
  jsonl::LineReader reader(stream.files);
  jsonl::Batch batch;
  while (reader.next(batch, 1, 1)) {
    Json record;
    try {
      record = jsonl::parse_record(batch.lines[0]);
      if (records::id_of(record) != options.explain) continue;
    } catch (const RecordError&) {
      continue;  // not the one
    }
    try {
      Verifier verifier(options.verify);
      print(verifier.explain(record));
    } catch (const RecordError& error) {
      throw Error(jsonl::line_name(batch.file, batch.first) + ": " + error.what());
    }
    return;
  }
  throw Error("--explain " + options.explain + ": no record has this id");
}

}  // namespace

void run(cli::Tool& tool, const cli::StreamOptions& stream, const ToolOptions& options) {
  if (options.check_sandbox) {
    const auto found = sandbox::inspect();
    print(found.text + kernel::tools_text());
    if (!found.usable) throw Error("no sandbox can be used");
    return;
  }
  if (!options.explain.empty()) return explain(stream, options);
  Options settings = options.verify;
  // What lines beside each other leave free.
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  settings.kernel.workers = static_cast<unsigned>(std::max(1, stream.jobs > 0 ? cores / stream.jobs : 1));
  settings.first_failure = settings.first_failure || options.lint_problem;
  settings.warn = [&](const std::string& message) { tool.warn(message); };
  Verifier verifier(settings);
  Summary summary;
  cli::RecordWork work;
  work.kind = cli::Kind::kSlow;
  if (options.lint_problem) {
    work.process = [&](Json& record) {
      lint(verifier, record);
      return true;
    };
    work.complete = [](const Json& record) { return records::find(record, "lint") != nullptr; };
  } else {
    work.process = [&](Json& record) {
      verifier.verify_record(record);
      summary.add(record);
      return true;
    };
    work.complete = is_verified;
  }
  const auto records = cli::each_record(tool, stream, work);
  cli::write_summary(tool, stream, records, summary.json());
}

}  // namespace leap::verify
