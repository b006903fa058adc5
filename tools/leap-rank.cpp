#include "cli/stream.hpp"
#include "leap/rank.hpp"
#include "leap/summary.hpp"

int main(int argc, char** argv) {
  using namespace leap;
  cli::Tool tool("leap-rank", "Turns the outcomes of a group into rewards and advantages.",
                 "Example:\n  leap-rank --gamma 0.4 < verified.jsonl > ranked.jsonl\nSee leap-rank(1).");
  cli::StreamOptions stream;
  RankOptions options;
  bool drop_flat = false;

  auto& flags = tool.flags();
  cli::add_choice<Reward>(flags, "--reward", options.reward,
                          {{"rank", Reward::kRank},
                           {"binary", Reward::kBinary},
                           {"kevin", Reward::kKevin},
                           {"passk", Reward::kPassK}},
                          "rank, binary, kevin or passk (default rank)");
  cli::add_choice<Advantage>(flags, "--advantage", options.advantage,
                             {{"none", Advantage::kNone},
                              {"mean", Advantage::kMean},
                              {"rloo", Advantage::kRloo},
                              {"grpo", Advantage::kGrpo}},
                             "none, mean, rloo or grpo (default none with rank, rloo with the others)");
  cli::add_choice<Credit>(
      flags, "--credit", options.credit, {{"turn", Credit::kTurn}, {"trajectory", Credit::kTrajectory}},
      "turn discounts a positive advantage back over the turns; trajectory does not (default turn)");
  flags.add_option("--gamma", options.gamma, "Discount a turn (default 0.4)")
      ->check(cli::number_in(0, 1))
      ->type_name("X");
  flags.add_option("--k", options.k, "k of --reward passk (default 4)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  cli::add_choice<bool>(
      flags, "--by", options.by_speed, {{"turn", false}, {"speed", true}},
      "With --reward rank: turn, or speed, where of equal solves the faster one wins at half weight "
      "(default turn)");
  flags.add_flag("--partial", options.partial,
                 "With --reward rank: failures that passed more tests beat others at half weight");
  flags.add_flag("--recenter", options.recenter,
                 "Subtract from the advantages of each turn their mean over the group");
  flags.add_flag("--drop-flat", drop_flat, "Leave out groups whose advantages are all 0");
  cli::add_stream_options(tool, stream, cli::Kind::kFast);

  return tool.run(argc, argv, [&] {
    GroupSummary summary;
    cli::RecordWork work;
    work.process = [&](Json& record) {
      const bool any = rank(record, options);
      summary.add(record);
      return any || !drop_flat;
    };
    work.complete = is_ranked;
    work.drops = drop_flat;
    const auto records = cli::each_record(tool, stream, work);
    cli::write_summary(tool, stream, records, summary.json());
  });
}
