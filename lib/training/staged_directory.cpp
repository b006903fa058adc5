#include "training/staged_directory.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace leap::training {
namespace {

namespace fs = std::filesystem;

void sync(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno("cannot open " + path.string());
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems cannot sync a directory and need not.
  if (result != 0 && error != EINVAL) {
    errno = error;
    throw_errno("cannot write " + path.string());
  }
}

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error("cannot write " + path.string() + ": " + error.message());
}

}  // namespace

fs::path real_target(const fs::path& target) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(target), error);
  if (error) fail(target, error);
  return path.has_filename() ? path : path.parent_path();
}

StagedDirectory::StagedDirectory(const fs::path& target, std::function<bool(const std::string& name)> owned,
                                 Retire retire)
    : target_(real_target(target)), owned_(std::move(owned)), retire_(std::move(retire)) {
  staged_ = target_.parent_path() / ('.' + target_.filename().string() + ".staged");
  previous_ = target_.parent_path() / ('.' + target_.filename().string() + ".previous");
  std::error_code error;
  fs::create_directories(target_.parent_path(), error);
  if (error) fail(target_.parent_path(), error);
  if (!fs::exists(target_) && fs::exists(previous_)) fs::rename(previous_, target_, error);
  if (error) fail(target_, error);
  clear();
  fs::create_directory(staged_, error);
  if (error) fail(staged_, error);
}

StagedDirectory::~StagedDirectory() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(staged_, ignored);
}

void StagedDirectory::commit() {
  for (const auto& entry : fs::directory_iterator(staged_)) sync(entry.path());
  sync(staged_);
  if (::renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    // Nothing there yet, or a file system that cannot exchange: there, the target is away for a moment.
    if (errno != ENOENT && errno != EINVAL && errno != ENOSYS)
      throw_errno("cannot replace " + target_.string());
    const bool replaces = errno != ENOENT;
    if (replaces && ::rename(target_.c_str(), previous_.c_str()) != 0)
      throw_errno("cannot rename " + target_.string());
    if (::rename(staged_.c_str(), target_.c_str()) != 0) throw_errno("cannot rename to " + target_.string());
    if (replaces && ::rename(previous_.c_str(), staged_.c_str()) != 0)
      throw_errno("cannot rename " + previous_.string());
  }
  committed_ = true;
  sync(target_.parent_path());
  clear();
}

/// `staged_` now is an earlier directory, or one that was never finished.
void StagedDirectory::clear() {
  std::error_code error;
  if (!fs::exists(staged_)) return;
  for (const auto& entry : fs::directory_iterator(staged_)) {
    const fs::path kept = target_ / entry.path().filename();
    if (owned_(entry.path().filename().string()) || fs::exists(kept) || !fs::exists(target_)) continue;
    fs::rename(entry.path(), kept, error);
    if (error) fail(kept, error);
  }
  const fs::path kept = retire_ ? retire_(target_, staged_) : fs::path();
  if (!kept.empty()) {
    fs::rename(staged_, kept, error);
  } else {
    fs::remove_all(staged_, error);
  }
  if (error) fail(staged_, error);
}

bool is_occupied(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  return !fs::is_directory(path) || !fs::is_empty(path);
}

}  // namespace leap::training
