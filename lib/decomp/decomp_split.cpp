#include "decomp/decomp_split.hpp"

#include "decomp/diagnostics.hpp"

namespace leap::decomp {

void split_lines(cli::Tool& tool, const cli::StreamOptions& stream, const SplitOptions& options) {
  Splitter splitter(options);
  Diagnostics diagnostics;
  cli::RecordWork work;
  work.kind = cli::Kind::kSlow;
  work.process = [&](Json& record) {
    splitter.split(record);
    diagnostics.add(record);
    return true;
  };
  work.complete = [&](const Json& record) { return is_split(record, options); };
  const auto records = cli::each_record(tool, stream, work);
  cli::write_summary(tool, stream, records, diagnostics.json());
}

}  // namespace leap::decomp
