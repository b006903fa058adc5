/// Lines in, lines out: reading files or stdin, writing whole lines, and the parallel pipeline between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leap::jsonl {

/// Consecutive lines of one file, without their newlines.
struct Batch {
  std::string file;            ///< "" for stdin, or when there is only one input
  std::uint64_t first = 0;     ///< number of the first line in its file, from 1
  std::uint64_t sequence = 0;  ///< number of the first line in the whole input, from 0
  std::string buffer;
  std::vector<std::string_view> lines;  ///< views into `buffer`
};

/// "line 12" or, where there are several inputs, "b.jsonl: line 12".
std::string line_name(const std::string& file, std::uint64_t number);

/// Reads files one after the other; "-", or no file at all, is stdin. A last line without newline is a line.
/// Reading ends early, at a line's end, when a signal has asked to finish.
class LineReader {
 public:
  explicit LineReader(std::vector<std::string> files);
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader();

  /// At least one line, at most `max_lines`, about `target_bytes` unless a single line is longer; only what
  /// can be had without waiting once there is a line. False at the end. Throws Error when a file cannot be
  /// opened or read.
  bool next(Batch& batch, std::size_t target_bytes, std::size_t max_lines);

  /// Would next() return without waiting for more input?
  bool ready();

  /// Bytes handed out so far, and in all (0 when an input is no regular file).
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t bytes_total() const { return bytes_total_; }

 private:
  bool open_next();
  bool fill();

  std::vector<std::string> files_;
  std::size_t next_file_ = 0;
  int fd_ = -1;
  bool end_of_file_ = true;
  std::string pending_;      // read but not handed out; starts at a line's start
  std::size_t scanned_ = 0;  // bytes of pending_ known to hold no newline
  std::uint64_t line_ = 1;   // number of the next line in its file
  std::uint64_t sequence_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_total_ = 0;
};

/// Writes whole lines to a file descriptor. Throws Error when they cannot be written, and dies of SIGPIPE
/// when the reader is gone.
class LineWriter {
 public:
  /// Does not own `fd`; `name` is for messages.
  LineWriter(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  void write(std::string_view lines);

 private:
  int fd_;
  std::string name_;
};

/// Puts results that come in any order back into the order of their sequence numbers (0, 1, 2, ..).
class Reorder {
 public:
  explicit Reorder(std::function<void(std::string)> out) : out_(std::move(out)) {}
  void put(std::uint64_t sequence, std::string result);
  /// Results waiting for an earlier one.
  std::size_t waiting() const { return held_.size(); }
  std::uint64_t delivered() const { return next_; }

 private:
  std::function<void(std::string)> out_;
  std::map<std::uint64_t, std::string> held_;
  std::uint64_t next_ = 0;
};

struct PipelineOptions {
  int jobs = 1;               ///< lines worked on at the same time
  bool ordered = true;        ///< results in input order
  bool line_by_line = false;  ///< for slow work: a batch is one line, written as soon as it is done
};

/// One line: its text, where it stands, and where in the whole input (from 0).
struct LineRef {
  std::string_view text;
  const std::string& file;
  std::uint64_t number;
  std::uint64_t sequence;
};

/// What became of a line: nothing to write (skipped), or a text to write; with `error`, the text of the line
/// as it was.
struct Outcome {
  std::optional<std::string> text;  ///< without newline
  std::string error;                ///< why the record could not be processed
};

/// What a batch gave, in order of its lines; called by one thread at a time, in input order if `ordered`.
struct Written {
  std::uint64_t lines = 0;
  std::uint64_t input_bytes = 0;
};

/// Runs `work` on every line in parallel (TBB) and `on_outcome(line, outcome)` then `on_batch` serially. An
/// exception from either ends the run and is thrown again once the workers have stopped; what was handed on
/// before stays. Memory is bounded by about 2 * jobs batches.
void run_pipeline(LineReader& reader, const PipelineOptions& options,
                  const std::function<Outcome(const LineRef&)>& work,
                  const std::function<void(const LineRef&, Outcome&&)>& on_outcome,
                  const std::function<void(const Written&)>& on_batch);

}  // namespace leap::jsonl
