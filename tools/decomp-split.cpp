#include "decomp/decomp_split.hpp"

int main(int argc, char** argv) {
  using namespace leap;
  cli::Tool tool("decomp-split", "Takes completions apart into decompositions: the functions to implement.",
                 "Example:\n  leap-sample --stage decompose --model m0 -n 8 < problems.jsonl | decomp-split\n"
                 "See decomp-split(1).");
  cli::StreamOptions stream;
  decomp::SplitOptions options;

  auto& flags = tool.flags();
  flags.add_option("--max-functions", options.max_functions, "Most functions of a decomposition (default 6)")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  flags.add_flag("--from-rollouts", options.from_rollouts,
                 "Rollouts that define the same functions become decompositions where a record has none");
  cli::add_choice<sandbox::Mode>(
      flags, "--sandbox", options.sandbox,
      {{"auto", sandbox::Mode::kAuto},
       {"bwrap", sandbox::Mode::kBwrap},
       {"landlock", sandbox::Mode::kLandlock},
       {"none", sandbox::Mode::kNone}},
      "Where completions are parsed: auto, bwrap, landlock, or none: limits alone (default auto)");
  cli::add_stream_options(tool, stream, cli::Kind::kSlow);
  return tool.run(argc, argv, [&] { decomp::split_lines(tool, stream, options); });
}
