/// A directory that appears whole: its files are written beside it and exchanged with what was there in one
/// step, so a crash at any moment leaves the old or the new one (on a file system that cannot exchange names,
/// the old one may be left under the name `.NAME.previous`; the next StagedDirectory of that name puts it
/// back).
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace leap::training {

class StagedDirectory {
 public:
  /// Where the old directory is kept, given the new and the old one; empty: nowhere.
  using Retire = std::function<std::filesystem::path(const std::filesystem::path& target,
                                                     const std::filesystem::path& old)>;

  /// `owned` says which file names belong to the directory's writer: at the exchange those of the old
  /// directory are deleted (or kept where `retire` says), all others are carried over. Clears what a crashed
  /// run left. Throws Error.
  StagedDirectory(const std::filesystem::path& target, std::function<bool(const std::string& name)> owned,
                  Retire retire = {});
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;
  /// Removes the files written when they were not committed.
  ~StagedDirectory();

  /// Where to write the files.
  const std::filesystem::path& path() const { return staged_; }

  /// Syncs everything to disk and exchanges. Throws Error.
  void commit();

 private:
  void clear();

  std::filesystem::path target_, staged_, previous_;
  std::function<bool(const std::string& name)> owned_;
  Retire retire_;
  bool committed_ = false;
};

/// The directory that `target` names or links to, absolute and without a slash at its end. Throws Error.
std::filesystem::path real_target(const std::filesystem::path& target);

/// Is there a file, or a directory with at least one entry?
bool is_occupied(const std::filesystem::path& path);

}  // namespace leap::training
