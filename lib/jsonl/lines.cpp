#include "jsonl/lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/parallel.hpp"

namespace leap::jsonl {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;

}  // namespace

std::string line_name(const std::string& file, std::uint64_t number) {
  return (file.empty() ? "" : file + ": ") + "line " + std::to_string(number);
}

LineReader::LineReader(std::vector<std::string> files) : files_(std::move(files)) {
  if (files_.empty()) files_.emplace_back("-");
  for (const std::string& file : files_) {
    struct stat info {};
    const int failed = file == "-" ? fstat(STDIN_FILENO, &info) : stat(file.c_str(), &info);
    if (failed != 0) throw_errno(file == "-" ? "stdin" : file);
    if (S_ISDIR(info.st_mode)) throw Error(file + ": is a directory, not a file of lines");
    if (!S_ISREG(info.st_mode)) {
      bytes_total_ = 0;
      break;
    }
    bytes_total_ += static_cast<std::uint64_t>(info.st_size);
  }
}

LineReader::~LineReader() {
  if (fd_ > STDIN_FILENO) close(fd_);
}

bool LineReader::open_next() {
  if (fd_ > STDIN_FILENO) close(fd_);
  fd_ = -1;
  if (next_file_ == files_.size()) return false;
  const std::string& file = files_[next_file_++];
  fd_ = file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw_errno(file);
  line_ = 1;
  end_of_file_ = false;
  return true;
}

bool LineReader::fill() {
  pollfd fds[2] = {{fd_, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
  while (poll(fds, 2, -1) < 0) {
    if (errno != EINTR) throw_errno("poll");
  }
  if (interrupted() != 0) return false;
  const std::size_t old = pending_.size();
  pending_.resize(old + kReadBytes);
  ssize_t got;
  do {
    got = read(fd_, pending_.data() + old, kReadBytes);
  } while (got < 0 && errno == EINTR);
  pending_.resize(old + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got < 0) {
    const std::string& file = files_[next_file_ - 1];
    throw_errno("cannot read " + (file == "-" ? std::string("stdin") : file));
  }
  if (got == 0) end_of_file_ = true;
  return true;
}

bool LineReader::next(Batch& batch, std::size_t target_bytes, std::size_t max_lines) {
  batch.lines.clear();
  batch.buffer.clear();
  while (interrupted() == 0) {
    if (fd_ < 0 && !open_next()) return false;
    // Offsets of the whole lines at hand.
    std::vector<std::pair<std::size_t, std::size_t>> found;
    std::size_t start = 0, from = scanned_;
    while (found.size() < max_lines && (found.empty() || start < target_bytes)) {
      const void* newline = from < pending_.size()
                                ? std::memchr(pending_.data() + from, '\n', pending_.size() - from)
                                : nullptr;
      if (newline == nullptr) break;
      const auto end = static_cast<std::size_t>(static_cast<const char*>(newline) - pending_.data());
      found.emplace_back(start, end - start);
      start = from = end + 1;
    }
    if (found.empty() && end_of_file_ && !pending_.empty()) {
      found.emplace_back(0, pending_.size());
      start = pending_.size();
    }
    if (!found.empty()) {
      batch.buffer.assign(pending_, 0, start);
      pending_.erase(0, start);
      scanned_ = 0;
      for (const auto& [offset, length] : found)
        batch.lines.emplace_back(batch.buffer.data() + offset, length);
      batch.file = files_.size() > 1 ? files_[next_file_ - 1] : "";
      batch.first = line_;
      batch.sequence = sequence_;
      line_ += found.size();
      sequence_ += found.size();
      bytes_read_ += start;
      return true;
    }
    scanned_ = pending_.size();
    if (end_of_file_) {
      if (!open_next()) return false;
    } else {
      fill();
    }
  }
  return false;
}

bool LineReader::ready() {
  while (interrupted() == 0 && fd_ >= 0 && !end_of_file_ &&
         pending_.find('\n', scanned_) == std::string::npos) {
    scanned_ = pending_.size();
    pollfd input{fd_, POLLIN, 0};
    if (poll(&input, 1, 0) == 0) return false;
    fill();
  }
  return true;
}

void LineWriter::write(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t written = ::write(fd_, lines.data(), lines.size());
    if (written > 0) {
      lines.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    } else if (errno == EAGAIN) {
      pollfd wait{fd_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      throw_errno("cannot write " + name_);
    }
  }
}

void Reorder::put(std::uint64_t sequence, std::string result) {
  if (sequence != next_) {
    held_.emplace(sequence, std::move(result));
    return;
  }
  out_(std::move(result));
  ++next_;
  for (auto it = held_.begin(); it != held_.end() && it->first == next_; it = held_.erase(it), ++next_) {
    out_(std::move(it->second));
  }
}

void run_pipeline(LineReader& reader, const PipelineOptions& options,
                  const std::function<Outcome(const LineRef&)>& work,
                  const std::function<void(const LineRef&, Outcome&&)>& on_outcome,
                  const std::function<void(const Written&)>& on_batch) {
  struct Item {
    Batch batch;
    std::vector<Outcome> outcomes;
    std::exception_ptr failure;  // of the first line that threw; the outcomes before it stand
  };
  const std::size_t max_lines = options.line_by_line ? 1 : 4096;
  std::exception_ptr read_failure, failure;  // each touched by one serial stage alone
  std::atomic<bool> stopped{false};

  const auto line_of = [](const Item& item, std::size_t i) {
    return LineRef{item.batch.lines[i], item.batch.file, item.batch.first + i, item.batch.sequence + i};
  };
  // TBB hands items on; the serial stages have what else they touch from their own last turn.
  static const char begun = 0;
  const char reading = 0, writing = 0;
  give(&begun);
  give(&reading);
  give(&writing);
  const auto read_stage = [&](tbb::flow_control& control) -> Item* {
    take(&begun);
    take(&reading);
    auto item = std::make_unique<Item>();
    bool more = false;
    try {
      more = !stopped && reader.next(item->batch, kReadBytes, max_lines);
    } catch (...) {
      read_failure = std::current_exception();  // what was read before is still written
    }
    if (!more) control.stop();
    give(&reading);
    give(item.get());
    return more ? item.release() : nullptr;
  };
  const auto work_stage = [&](Item* item) {
    take(&begun);
    take(item);
    try {
      for (std::size_t i = 0; i < item->batch.lines.size(); ++i)
        item->outcomes.push_back(work(line_of(*item, i)));
    } catch (...) {
      item->failure = std::current_exception();
    }
    give(item);
    return item;
  };
  const auto write = [&](Item& item) {
    try {
      for (std::size_t i = 0; i < item.outcomes.size(); ++i)
        on_outcome(line_of(item, i), std::move(item.outcomes[i]));
      on_batch({item.outcomes.size(), item.batch.buffer.size()});
      if (item.failure) std::rethrow_exception(item.failure);
    } catch (...) {
      failure = std::current_exception();
      stopped = true;
    }
  };
  const auto write_stage = [&](Item* given) {
    take(&begun);
    take(given);
    take(&writing);
    const std::unique_ptr<Item> item(given);
    if (!stopped) write(*item);
    give(&writing);
  };
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(options.jobs > 1 ? options.jobs : 1));
  tbb::task_arena arena(options.jobs);
  arena.execute([&] {
    tbb::parallel_pipeline(
        static_cast<std::size_t>(2 * options.jobs),
        tbb::make_filter<void, Item*>(tbb::filter_mode::serial_in_order, read_stage) &
            tbb::make_filter<Item*, Item*>(tbb::filter_mode::parallel, work_stage) &
            tbb::make_filter<Item*, void>(
                options.ordered ? tbb::filter_mode::serial_in_order : tbb::filter_mode::serial_out_of_order,
                write_stage));
  });
  take(&reading);
  take(&writing);
  if (failure) std::rethrow_exception(failure);
  if (read_failure) std::rethrow_exception(read_failure);
}

}  // namespace leap::jsonl
