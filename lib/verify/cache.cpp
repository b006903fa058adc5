#include "verify/cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/sha256.hpp"

namespace leap::verify {

namespace fs = std::filesystem;

Cache::Cache(std::string directory, std::function<void(const std::string&)> warn)
    : directory_(std::move(directory)), warn_(std::move(warn)) {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error || access(directory_.c_str(), R_OK | W_OK | X_OK) != 0)
    throw Error("--cache " + directory_ + ": " + (error ? error.message() : "cannot be written to"));
}

std::string Cache::path_of(const std::string& kind, const std::string& key) const {
  const std::string name = sha256(kind + "\n" + key);
  return directory_ + "/" + name.substr(0, 2) + "/" + name.substr(2);
}

std::optional<std::string> Cache::get(const std::string& kind, const std::string& key) const {
  std::ifstream file(path_of(kind, key), std::ios::binary);
  if (!file) return {};
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  if (size < 64) return {};
  file.seekg(0);
  std::string digest(64, '\0'), bytes(static_cast<std::size_t>(size) - 64, '\0');
  file.read(digest.data(), 64);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file || digest != sha256(bytes)) return {};
  return bytes;
}

void Cache::put(const std::string& kind, const std::string& key, const std::string& bytes) const {
  static std::atomic<unsigned> count{0};
  const std::string path = path_of(kind, key);
  const std::string aside = path + "." + std::to_string(getpid()) + "." + std::to_string(count++);
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  bool written = false;
  errno = 0;
  {
    std::ofstream file(aside, std::ios::binary);
    file << sha256(bytes) << bytes;
    file.close();
    written = static_cast<bool>(file);
  }
  if (written && ::rename(aside.c_str(), path.c_str()) == 0) return;
  const std::string reason = std::strerror(errno ? errno : EIO);
  ::unlink(aside.c_str());
  if (warn_ && !warned_->exchange(true))
    warn_("--cache " + directory_ + ": " + reason + "; going on, but results are not kept");
}

std::string toolchain_stamp() {
  std::string out;
  for (const char* path : {"/usr/bin/python3", "/usr/bin/g++"}) {
    struct stat info {};
    if (stat(path, &info) == 0)
      out += std::to_string(info.st_size) + "." + std::to_string(info.st_mtime) + ".";
    else
      out += "none.";
  }
  return out;
}

}  // namespace leap::verify
