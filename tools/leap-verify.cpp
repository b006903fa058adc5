#include "verify/leap_verify.hpp"

int main(int argc, char** argv) {
  using namespace leap;
  cli::Tool tool("leap-verify",
                 "Compiles and runs the code of every turn in a sandbox and says what happened.",
                 "Example:\n  leap-verify < sampled.jsonl > verified.jsonl\nSee leap-verify(1).");
  cli::StreamOptions stream;
  verify::ToolOptions options;

  auto& flags = tool.flags();
  cli::add_choice<sandbox::Mode>(
      flags, "--sandbox", options.verify.sandbox,
      {{"auto", sandbox::Mode::kAuto},
       {"bwrap", sandbox::Mode::kBwrap},
       {"landlock", sandbox::Mode::kLandlock},
       {"none", sandbox::Mode::kNone}},
      "auto, bwrap, landlock (weaker), or none: limits alone, for code that you trust (default auto)");
  flags.add_flag("--first-failure", options.verify.first_failure, "Stop a program at its first failing case");
  flags.add_option("--cache", options.verify.cache, "Keep verdicts and compiled programs here, by content")
      ->type_name("DIR");
  auto& kernel = options.verify.kernel;
  flags
      .add_option("--arch", kernel.arch,
                  "Device whose limits kernels are held to: sm_80, sm_90 (default sm_80)")
      ->type_name("NAME");
  flags
      .add_option(
          "--order", kernel.order,
          "Order of threads and blocks of kernels: 0 forward (default), 1 reverse, else a shuffle's seed")
      ->type_name("N");
  flags.add_flag("--allow-host", kernel.allow_host,
                 "Kernels whose work was done by the host are ok, with a flag");
  flags.add_flag("--all", kernel.all, "Run all trials of a kernel, not only up to the first that fails");
  flags.add_option("--seed", kernel.seed, "Seed of the inputs of kernels (default 0)")->type_name("S");
  auto* lint =
      flags.add_flag("--lint-problem", options.lint_problem,
                     "Add `lint`: can a problem be passed by an empty, constant or echoing program?");
  auto* explain = flags
                      .add_option("--explain", options.explain,
                                  "Run one record and print, for people, what was run and what came out")
                      ->type_name("ID")
                      ->excludes(lint);
  flags
      .add_flag("--check-sandbox", options.check_sandbox,
                "Print what this machine offers for sandboxes, and exit")
      ->excludes(lint)
      ->excludes(explain);
  cli::add_stream_options(tool, stream, cli::Kind::kSlow);
  return tool.run(argc, argv, [&] { verify::run(tool, stream, options); });
}
