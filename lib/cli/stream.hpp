/// The loop around a filter: records from files or stdin, through `process`, to stdout or the file of
/// --resume.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "cli/tool.hpp"
#include "jsonl/json.hpp"
#include "jsonl/lines.hpp"

namespace leap::cli {

struct StreamOptions {
  std::vector<std::string> files;
  int jobs = 0;  ///< 0: one a core
  bool unordered = false;
  bool keep_going = false;
  std::string resume;
  bool quiet = false;
  bool progress = false;
  std::string summary;
};

enum class Kind {
  kFast,  ///< lines are cheap: batches, always in order
  kSlow,  ///< a line is written as soon as it is done; offers --unordered
};

/// Binds FILE.., --jobs, --keep-going, --resume, --summary, --quiet, --progress (and --unordered).
void add_stream_options(Tool& tool, StreamOptions& options, Kind kind);

/// What a tool does with a record.
struct RecordWork {
  /// Changes the record; false drops it from the output. Throws RecordError when it cannot. Called in
  /// parallel.
  std::function<bool(Json& record)> process;
  /// Has the tool nothing left to do on this line of an earlier output? For --resume.
  std::function<bool(const Json& record)> complete;
  Kind kind = Kind::kFast;
  bool drops = false;  ///< `process` may return false
};

/// Where finished lines go: stdout, or the file of --resume, cut at its first unfinished line.
class Output {
 public:
  Output(const StreamOptions& options, const std::function<bool(const Json&)>& complete);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  void write(std::string_view lines) { writer_->write(lines); }

  /// Has this input line been done by the earlier run? Each line is asked once; in input order unless
  /// --unordered. With `drops` a line may be missing from the earlier output. Any thread. Throws Error when
  /// the earlier output belongs to another input.
  bool done_before(std::string_view line, bool drops);
  /// To be called at the end of the input.
  void check_all_found() const;
  bool resuming() const { return next_ < ids_.size() || !id_set_.empty(); }

 private:
  std::string name_;
  int fd_;
  bool ordered_;
  std::mutex mutex_;
  std::vector<std::string> ids_;  // of the finished lines, in order
  std::size_t next_ = 0;
  std::unordered_set<std::string> id_set_;  // with --unordered
  std::optional<jsonl::LineWriter> writer_;
};

/// Progress on stderr: lines, rate and time left. Silent unless stderr is a terminal or it was asked for.
class Progress {
 public:
  Progress(const Tool& tool, const StreamOptions& options);
  ~Progress();
  /// `done_bytes` of `total_bytes` of the input (0: unknown).
  void update(std::uint64_t lines, std::uint64_t done_bytes, std::uint64_t total_bytes,
              const std::string& note = "");

 private:
  const Tool& tool_;
  bool enabled_, terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

/// Number of cores this process may use.
int available_cores();

/// No FILE and stdin a terminal: shows the help instead of waiting for typing.
void require_input(const StreamOptions& options);

/// Runs `work` on every record. Returns the number of records read.
std::uint64_t each_record(Tool& tool, const StreamOptions& options, const RecordWork& work);

/// Writes the one-line JSON summary of --summary (if asked for): tool, version, records, failed, then
/// `members`, with the seconds since the tool started under `measured`.
void write_summary(const Tool& tool, const StreamOptions& options, std::uint64_t records,
                   const Json& members);

}  // namespace leap::cli
