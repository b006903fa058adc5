/// A directory of results keyed by the content that they follow from. Safe for several programs at once:
/// files are written aside and renamed, and one that is damaged counts as absent.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace leap::verify {

class Cache {
 public:
  /// Makes the directory. Error when that cannot be done. `warn` is told once when later something cannot be
  /// written.
  explicit Cache(std::string directory, std::function<void(const std::string&)> warn = {});

  /// `kind` keeps results of different kinds apart.
  std::optional<std::string> get(const std::string& kind, const std::string& key) const;
  /// Does nothing more where it cannot write: a cache only saves time.
  void put(const std::string& kind, const std::string& key, const std::string& bytes) const;

 private:
  std::string path_of(const std::string& kind, const std::string& key) const;

  std::string directory_;
  std::function<void(const std::string&)> warn_;
  std::shared_ptr<std::atomic<bool>> warned_ = std::make_shared<std::atomic<bool>>(false);
};

/// Changes when a compiler or interpreter that verdicts depend on does.
std::string toolchain_stamp();

}  // namespace leap::verify
