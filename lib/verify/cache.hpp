/// A directory of results keyed by the content that they follow from. Safe for several programs at once:
/// files are written aside and renamed, and one that is damaged counts as absent.
#pragma once

#include <optional>
#include <string>

namespace leap::verify {

class Cache {
 public:
  /// Makes the directory. Error when that cannot be done.
  explicit Cache(std::string directory);

  /// `kind` keeps results of different kinds apart.
  std::optional<std::string> get(const std::string& kind, const std::string& key) const;
  /// Does nothing where it cannot write: a cache only saves time.
  void put(const std::string& kind, const std::string& key, const std::string& bytes) const;

 private:
  std::string path_of(const std::string& kind, const std::string& key) const;

  std::string directory_;
};

/// Changes when a compiler or interpreter that verdicts depend on does.
std::string toolchain_stamp();

}  // namespace leap::verify
