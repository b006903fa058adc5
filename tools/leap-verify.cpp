#include "cli/stream.hpp"
#include "verify/summary.hpp"
#include "verify/verify.hpp"

int main(int argc, char** argv) {
  using namespace leap;
  cli::Tool tool("leap-verify",
                 "Compiles and runs the code of every turn in a sandbox and says what happened.",
                 "Example:\n  leap-verify < sampled.jsonl > verified.jsonl\nSee leap-verify(1).");
  cli::StreamOptions stream;
  verify::Options options;

  auto& flags = tool.flags();
  cli::add_choice<sandbox::Mode>(
      flags, "--sandbox", options.sandbox,
      {{"auto", sandbox::Mode::kAuto}, {"bwrap", sandbox::Mode::kBwrap}, {"none", sandbox::Mode::kNone}},
      "auto, bwrap, or none: limits alone, only for code that you trust (default auto)");
  flags.add_flag("--first-failure", options.first_failure, "Stop a program at its first failing case");
  cli::add_stream_options(tool, stream, cli::Kind::kSlow);

  return tool.run(argc, argv, [&] {
    verify::Verifier verifier(options);
    verify::Summary summary;
    cli::RecordWork work;
    work.kind = cli::Kind::kSlow;
    work.process = [&](Json& record) {
      verifier.verify_record(record);
      summary.add(record);
      return true;
    };
    work.complete = verify::is_verified;
    const auto records = cli::each_record(tool, stream, work);
    cli::write_summary(tool, stream, records, summary.json());
  });
}
