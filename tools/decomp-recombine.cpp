#include "decomp/decomp_recombine.hpp"

int main(int argc, char** argv) {
  using namespace leap;
  cli::Tool tool(
      "decomp-recombine",
      "Verdicts of all programs that the implementations of decompositions make, and the advantage "
      "of every action.",
      "Example:\n  decomp-recombine < implemented.jsonl > recombined.jsonl\n"
      "See decomp-recombine(1).");
  cli::StreamOptions stream;
  decomp::RecombineOptions options;
  double clip = 0;

  auto& flags = tool.flags();
  const auto count_or = [&](const char* name, std::uint64_t& value,
                            std::vector<std::pair<std::string, std::uint64_t>> words, const char* help) {
    const auto set = [&value, words, name](const std::string& text) {
      for (const auto& [word, meaning] : words) {
        if (text == word) {
          value = meaning;
          return;
        }
      }
      if (!CLI::detail::lexical_cast(text, value) || value == 0 || text[0] == '-')
        throw CLI::ValidationError(name, "'" + text + "' is no number above 0");
    };
    return flags.add_option_function<std::string>(name, set, help)->type_name("N");
  };
  const char* group = "Programs";
  count_or("--programs", options.engine.programs, {{"all", 0}},
           "all, or a balanced sample of N a decomposition (default all)")
      ->group(group);
  cli::add_choice<decomp::Mode>(flags, "--mode", options.engine.mode,
                                {{"auto", decomp::Mode::kAuto},
                                 {"run", decomp::Mode::kRun},
                                 {"tree", decomp::Mode::kTree},
                                 {"trie", decomp::Mode::kTrie}},
                                "How programs are run: auto, run, tree or trie; never changes a verdict "
                                "(default auto)")
      ->group(group);
  flags
      .add_flag("--outcomes", options.outcomes, "Run all tests of all programs; a letter a test in each box")
      ->group(group);
  auto* boxes = count_or("--boxes", options.boxes, {{"all", UINT64_MAX}, {"none", 0}},
                         "Most boxes written a decomposition: a number, all or none (default 4096; with "
                         "--outcomes all)");
  boxes->group(group);
  flags
      .add_option("--budget-s", options.engine.budget_s,
                  "Most seconds a decomposition; then its line's advantages are null (default 0, no bound)")
      ->check(cli::number_in(0, 1e9))
      ->type_name("SECONDS")
      ->group(group);
  flags.add_option("--seed", options.engine.seed, "Seed of the sample (default 0)")
      ->type_name("S")
      ->group(group);
  cli::add_choice<sandbox::Mode>(
      flags, "--sandbox", options.engine.sandbox,
      {{"auto", sandbox::Mode::kAuto},
       {"bwrap", sandbox::Mode::kBwrap},
       {"landlock", sandbox::Mode::kLandlock},
       {"none", sandbox::Mode::kNone}},
      "auto, bwrap, landlock, or none: limits alone, only for code that you trust (default auto)")
      ->group(group);

  group = "Rewards";
  cli::add_choice<decomp::Reward>(
      flags, "--reward", options.reward,
      {{"solved", decomp::Reward::kSolved}, {"fraction", decomp::Reward::kFraction}},
      "solved: 1 if all tests are passed; fraction: the share that is (default solved)")
      ->group(group);
  cli::add_choice<decomp::Scope>(flags, "--scope", options.advantage.scope,
                                 {{"local", decomp::Scope::kLocal}, {"pooled", decomp::Scope::kPooled}},
                                 "An implementation is compared with programs of its own decomposition "
                                 "(local), or of all (pooled) (default local)")
      ->group(group);
  flags
      .add_option("--beta", options.advantage.beta,
                  "0.. the best program counts, .. infinity the mean (default 0.3)")
      ->check(cli::number_in(1e-3, 1e12))
      ->type_name("X")
      ->group(group);
  auto* clipping =
      flags.add_option("--clip-advantage", clip, "Clip advantages to [-C, C] (default: no clip)")
          ->check(cli::number_in(0, 1e12))
          ->type_name("C")
          ->group(group);
  flags
      .add_option("--min-functions", options.min_functions,
                  "Functions that a best program must need to be more than trivial (default 1)")
      ->check(CLI::Range(0, 64))
      ->type_name("M")
      ->group(group);
  flags.add_flag("--allow-trivial", options.allow_trivial, "Trivial decompositions earn rewards too")
      ->group(group);
  flags
      .add_flag("--allow-redefinition", options.allow_redefinition,
                "So do programs with an implementation that defines another function")
      ->group(group);
  flags
      .add_flag("--emit-rollouts", options.emit_rollouts,
                "Add best programs that pass all tests as solved rollouts")
      ->group(group);
  cli::add_stream_options(tool, stream, cli::Kind::kSlow);
  return tool.run(argc, argv, [&] {
    if (clipping->count() > 0) options.advantage.clip = clip;
    if (options.outcomes && boxes->count() == 0) options.boxes = UINT64_MAX;
    decomp::recombine_lines(tool, stream, options);
  });
}
