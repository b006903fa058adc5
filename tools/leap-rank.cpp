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
  std::string by = "turn";

  auto& flags = tool.flags();
  const auto choice = [&](const char* name, auto& value, const auto& names, const char* help) {
    flags.add_option(name, value, help)->transform(CLI::CheckedTransformer(names))->type_name("NAME");
  };
  choice("--reward", options.reward,
         std::map<std::string, Reward>{{"rank", Reward::kRank},
                                       {"binary", Reward::kBinary},
                                       {"kevin", Reward::kKevin},
                                       {"passk", Reward::kPassK}},
         "rank, binary, kevin or passk (default rank)");
  choice("--advantage", options.advantage,
         std::map<std::string, Advantage>{{"none", Advantage::kNone},
                                          {"mean", Advantage::kMean},
                                          {"rloo", Advantage::kRloo},
                                          {"grpo", Advantage::kGrpo}},
         "none, mean, rloo or grpo (default none with rank, rloo with the others)");
  choice(
      "--credit", options.credit,
      std::map<std::string, Credit>{{"turn", Credit::kTurn}, {"trajectory", Credit::kTrajectory}},
      "turn: discount a positive advantage back over the turns; trajectory: all turns alike (default turn)");
  flags.add_option("--gamma", options.gamma, "Discount a turn (default 0.4)")
      ->check(cli::number_in(0, 1))
      ->type_name("X");
  flags.add_option("--k", options.k, "k of --reward passk (default 4)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  flags
      .add_option("--by", by,
                  "With --reward rank: turn, or speed, where a faster one of equal solves beats a slower one "
                  "at half weight (default turn)")
      ->check(CLI::IsMember({"turn", "speed"}))
      ->type_name("NAME");
  flags.add_flag("--partial", options.partial,
                 "With --reward rank: failures that passed more tests beat others at half weight");
  flags.add_flag("--recenter", options.recenter,
                 "Subtract from the advantages of each turn their mean over the group");
  flags.add_flag("--drop-flat", drop_flat, "Leave out groups whose advantages are all 0");
  cli::add_stream_options(tool, stream, cli::Kind::kFast);

  return tool.run(argc, argv, [&] {
    options.by_speed = by == "speed";
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
