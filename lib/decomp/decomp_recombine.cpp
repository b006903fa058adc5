#include "decomp/decomp_recombine.hpp"

#include <mutex>

#include "decomp/diagnostics.hpp"
#include "records/records.hpp"

namespace leap::decomp {
namespace {

/// What was run for the records so far.
class Totals {
 public:
  void add(const Json& record) {
    const Json* all = records::find(record, "decompositions");
    if (all == nullptr || !all->is_array()) return;
    const std::lock_guard lock(mutex_);
    for (const Json& decomposition : *all) {
      const Json* found = records::find(decomposition, "recombination");
      if (found == nullptr) continue;
      programs_ += (*found)["programs"].get<std::uint64_t>();
      evaluated_ += (*found)["evaluated"].get<std::uint64_t>();
      solved_ += (*found)["solved"].get<std::uint64_t>();
      unsettled_ += (*found)["settled"].get<bool>() ? 0 : 1;
      ++modes_[(*found)["mode"].get<std::string>()];
      runs_ += (*found)["measured"]["runs"].get<std::uint64_t>();
      cpu_s_ += (*found)["measured"]["cpu_s"].get<double>();
    }
  }
  Json into(Json members) const {
    members["programs"] = programs_;
    members["evaluated"] = evaluated_;
    members["solved_programs"] = solved_;
    members["unsettled"] = unsettled_;
    members["modes"] = modes_;
    members["measured"] = {{"runs", runs_}, {"cpu_s", cpu_s_}};
    return members;
  }

 private:
  std::mutex mutex_;
  std::uint64_t programs_ = 0, evaluated_ = 0, solved_ = 0, unsettled_ = 0, runs_ = 0;
  std::map<std::string, std::uint64_t> modes_;
  double cpu_s_ = 0;
};

}  // namespace

void recombine_lines(cli::Tool& tool, const cli::StreamOptions& stream, const RecombineOptions& options) {
  Recombiner recombiner(options);
  Diagnostics diagnostics;
  Totals totals;
  cli::RecordWork work;
  work.kind = cli::Kind::kSlow;
  work.process = [&](Json& record) {
    recombiner.recombine(record);
    diagnostics.add(record);
    totals.add(record);
    return true;
  };
  work.complete = is_recombined;
  const auto records = cli::each_record(tool, stream, work);
  cli::write_summary(tool, stream, records, totals.into(diagnostics.json()));
}

}  // namespace leap::decomp
