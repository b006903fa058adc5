#include "cli/stream.hpp"
#include "leap/prune.hpp"
#include "leap/summary.hpp"

int main(int argc, char** argv) {
  using namespace leap;
  cli::Tool tool(
      "leap-prune",
      "Spends further turns only on the groups where they pay (Difficulty-Conditioned Pruning).",
      "Example:\n  leap-prune --easy-below 0.5 < verified.jsonl > pruned.jsonl\nSee leap-prune(1).");
  cli::StreamOptions stream;
  PruneOptions options;
  std::string easy_below = "0.5", hopeless_above;

  auto& flags = tool.flags();
  flags
      .add_option(
          "--easy-below", easy_below,
          "Fewer first-turn failures are easy: a count, or with a decimal point a fraction (default 0.5)")
      ->type_name("X");
  flags
      .add_option("--hopeless-above", hopeless_above,
                  "More first-turn failures are hopeless, likewise (default: n - 1)")
      ->type_name("Y");
  flags.add_option("--max-turns", options.max_turns, "Most turns of a rollout (default 3)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("T");
  flags
      .add_option("--stall", options.stall,
                  "Stop a rollout whose code or feedback stood still for K turns (default 0, off)")
      ->check(CLI::Range(0, 1000000))
      ->type_name("K");
  cli::add_stream_options(tool, stream, cli::Kind::kFast);

  return tool.run(argc, argv, [&] {
    options.easy_below = Threshold::parse("--easy-below", easy_below);
    if (!hopeless_above.empty())
      options.hopeless_above = Threshold::parse("--hopeless-above", hopeless_above);
    GroupSummary summary;
    cli::RecordWork work;
    work.process = [&](Json& record) {
      prune(record, options);
      summary.add(record);
      return true;
    };
    work.complete = is_pruned;
    const auto records = cli::each_record(tool, stream, work);
    cli::write_summary(tool, stream, records, summary.json());
  });
}
