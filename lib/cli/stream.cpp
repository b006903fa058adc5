#include "cli/stream.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "records/records.hpp"

namespace leap::cli {
namespace {

const auto process_start = std::chrono::steady_clock::now();

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

bool same_file(int fd, const std::string& path) {
  struct stat a {
  }, b{};
  if (fstat(fd, &a) != 0) return false;
  if ((path == "-" ? fstat(STDIN_FILENO, &b) : stat(path.c_str(), &b)) != 0) return false;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string duration_text(double seconds) {
  char text[32];
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s >= 3600) {
    std::snprintf(text, sizeof text, "%" PRId64 "h%02" PRId64 "m", s / 3600, s % 3600 / 60);
  } else {
    std::snprintf(text, sizeof text, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
  }
  return text;
}

}  // namespace

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

void add_stream_options(Tool& tool, StreamOptions& options, Kind kind) {
  auto& app = tool.flags();
  const char* group = "Input and output";
  app.add_option("FILE", options.files, "JSON Lines files; '-' or none is stdin")
      ->group(group)
      ->type_name("");
  app.add_option("-j,--jobs", options.jobs, "Lines worked on at the same time (default: one a core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->group(group);
  if (kind == Kind::kSlow) {
    app.add_flag("--unordered", options.unordered, "Write lines as they are done, not in input order")
        ->group(group);
  }
  app.add_flag("--keep-going", options.keep_going,
               "Pass on records that cannot be processed, report them, exit 1")
      ->group(group);
  app.add_option("--resume", options.resume,
                 "Go on with OUT: cut it at its first unfinished line, append to it, leave stdout empty")
      ->type_name("OUT")
      ->group(group);
  app.add_option("--summary", options.summary, "Write a one-line JSON summary to FILE")
      ->type_name("FILE")
      ->group(group);
  auto* quiet = app.add_flag("-q,--quiet", options.quiet, "No progress on a terminal")->group(group);
  app.add_flag("--progress", options.progress, "Progress on stderr even when it is no terminal")
      ->excludes(quiet)
      ->group(group);
}

void require_input(const StreamOptions& options) {
  if (options.files.empty() && isatty(STDIN_FILENO) == 1) throw CLI::CallForHelp();
}

Output::Output(const StreamOptions& options, const std::function<bool(const Json&)>& complete)
    : name_(options.resume.empty() ? "stdout" : options.resume),
      fd_(STDOUT_FILENO),
      ordered_(!options.unordered) {
  if (!options.resume.empty()) {
    fd_ = open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) throw_errno(name_);
    struct stat info {};
    if (fstat(fd_, &info) == 0 && !S_ISREG(info.st_mode))
      throw UsageError("--resume " + name_ + ": not a regular file");
    for (const std::string& file : options.files) {
      if (same_file(fd_, file)) throw UsageError("--resume " + name_ + " is also an input");
    }
    if (options.files.empty() && same_file(fd_, "-"))
      throw UsageError("--resume " + name_ + " is also the input");
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) throw Error(name_ + " is being written by another process");

    // Everything up to the first line that is cut off or unfinished stays.
    off_t keep = 0;
    jsonl::LineReader reader({name_});
    jsonl::Batch batch;
    bool whole = true;
    while (whole && reader.next(batch, 1 << 20, 4096)) {
      for (const std::string_view line : batch.lines) {
        const auto end = keep + static_cast<off_t>(line.size()) + 1;
        whole = end <= info.st_size;
        if (!whole) break;
        try {
          const Json record = jsonl::parse_record(line);
          if (!complete(record)) whole = false;
          if (whole) ids_.push_back(records::id_of(record));
        } catch (const RecordError&) {
          whole = false;
        }
        if (!whole) break;
        keep = end;
      }
    }
    if (interrupted() == 0) {
      if (ftruncate(fd_, keep) != 0 || lseek(fd_, keep, SEEK_SET) < 0) throw_errno(name_);
    }
    if (!ordered_) {
      id_set_.insert(ids_.begin(), ids_.end());
      if (id_set_.size() != ids_.size())
        throw Error(name_ + ": two lines have the same id; resume it without --unordered");
      ids_.clear();
    }
  }
  writer_.emplace(fd_, name_);
}

Output::~Output() {
  if (fd_ != STDOUT_FILENO) close(fd_);
}

bool Output::done_before(std::string_view line, bool drops) {
  const std::lock_guard lock(mutex_);
  if (!resuming()) return false;
  std::string id;
  try {
    id = records::id_of(jsonl::parse_record(line));
  } catch (const RecordError&) {
    if (!ordered_) return false;
    throw Error("--resume " + name_ + ": line " + std::to_string(next_ + 1) +
                " of the input is no record, but was done before");
  }
  if (!ordered_) return id_set_.erase(id) == 1;
  if (id == ids_[next_]) {
    ++next_;
    return true;
  }
  if (drops) return true;
  throw Error("--resume " + name_ + ": its line " + std::to_string(next_ + 1) + " has id '" + ids_[next_] +
              "', the input has '" + id + "' there; it is not an output of this input");
}

void Output::check_all_found() const {
  if (resuming())
    throw Error("--resume " + name_ +
                " holds lines that the input does not; it is not an output of this input");
}

Progress::Progress(const Tool& tool, const StreamOptions& options)
    : tool_(tool),
      enabled_(options.progress || (!options.quiet && isatty(STDERR_FILENO) == 1)),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::uint64_t lines, std::uint64_t done_bytes, std::uint64_t total_bytes,
                      const std::string& note) {
  if (!enabled_ || seconds_since(last_) < (terminal_ ? 0.2 : 10.0)) return;
  last_ = std::chrono::steady_clock::now();
  const double seconds = std::max(1e-3, seconds_since(start_));
  char text[160];
  int n = std::snprintf(text, sizeof text, "%s: %" PRIu64 " lines, %.1f/s", tool_.name().c_str(), lines,
                        static_cast<double>(lines) / seconds);
  if (total_bytes > 0 && done_bytes > 0 && n > 0) {
    const double share = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    std::snprintf(text + n, sizeof text - static_cast<std::size_t>(n), ", %.0f %%, %s left", 100 * share,
                  duration_text(seconds * (1 - share) / share).c_str());
  }
  std::fprintf(stderr, terminal_ ? "\r%s%s%s\033[K" : "%s%s%s\n", text, note.empty() ? "" : ", ",
               note.c_str());
  std::fflush(stderr);
  shown_ = true;
}

std::uint64_t each_record(Tool& tool, const StreamOptions& options, const RecordWork& work) {
  require_input(options);
  Output output(options, work.complete);
  jsonl::LineReader reader(options.files);
  Progress progress(tool, options);

  jsonl::Batch batch;
  std::uint64_t lines = 0, bytes = 0;
  std::string text;

  const auto process = [&](const jsonl::LineRef& line) {
    jsonl::Outcome outcome;
    if (options.unordered && output.done_before(line.text, work.drops)) return outcome;
    try {
      Json record = jsonl::parse_record(line.text);
      records::check_version(record);
      if (work.process(record)) outcome.text = jsonl::dump(record);
    } catch (const RecordError& e) {
      if (!options.keep_going) throw Error(jsonl::line_name(line.file, line.number) + ": " + e.what());
      outcome.text = std::string(line.text);
      outcome.error = e.what();
    }
    return outcome;
  };
  const auto collect = [&](const jsonl::LineRef& line, jsonl::Outcome&& outcome) {
    if (!outcome.error.empty()) tool.report_failed(jsonl::line_name(line.file, line.number), outcome.error);
    if (outcome.text) text.append(*outcome.text).push_back('\n');
  };
  const auto flush = [&](const jsonl::Written& written) {
    if (!text.empty()) output.write(text);
    text.clear();
    lines += written.lines;
    bytes += written.input_bytes;
    progress.update(lines, bytes, reader.bytes_total());
  };

  while (!options.unordered && output.resuming() && reader.next(batch, 1 << 18, 1)) {
    output.done_before(batch.lines[0], work.drops);
    flush({1, batch.buffer.size()});
  }
  if (!options.unordered && interrupted() == 0) output.check_all_found();

  jsonl::PipelineOptions pipeline;
  pipeline.jobs = options.jobs > 0 ? options.jobs : available_cores();
  pipeline.ordered = !options.unordered;
  pipeline.line_by_line = work.kind == Kind::kSlow;
  try {
    jsonl::run_pipeline(reader, pipeline, process, collect, flush);
  } catch (const Error&) {
    flush({});  // the lines before the one that stopped us
    throw;
  }
  if (options.unordered && interrupted() == 0) output.check_all_found();
  return lines;
}

void write_summary(const Tool& tool, const StreamOptions& options, std::uint64_t records,
                   const Json& members) {
  if (options.summary.empty()) return;
  Json summary = {
      {"tool", tool.name()}, {"version", Tool::version()}, {"records", records}, {"failed", tool.failed()}};
  for (const auto& [key, value] : members.items()) summary[key] = value;
  summary["measured"]["seconds"] = seconds_since(process_start);
  const std::string text = jsonl::dump(summary) + "\n";

  // A regular file is replaced whole; anything else (a pipe, /dev/stderr) is written to.
  struct stat info {};
  const bool in_place = stat(options.summary.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  const std::string path = in_place ? options.summary : options.summary + ".tmp" + std::to_string(getpid());
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_TRUNC), 0666);
  if (fd < 0) throw_errno("--summary " + options.summary);
  try {
    jsonl::LineWriter(fd, options.summary).write(text);
    if (close(fd) != 0) throw_errno("--summary " + options.summary);
  } catch (...) {
    if (!in_place) unlink(path.c_str());
    throw;
  }
  if (!in_place && rename(path.c_str(), options.summary.c_str()) != 0)
    throw_errno("--summary " + options.summary);
}

}  // namespace leap::cli
