#include "verify/cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/sha256.hpp"

namespace leap::verify {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDigest = 16;

/// Finds damage, not malice: who can write here can write a right one too. Four products at once, as fast as
/// bytes are read.
std::string checksum(std::string_view bytes) {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15ULL;
  std::uint64_t lanes[4] = {bytes.size(), 1, 2, 3};
  const auto add = [&](std::size_t lane, std::uint64_t word) {
    std::uint64_t& h = lanes[lane];
    h = (h ^ word) * kPrime;
    h ^= h >> 29;
  };
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at + 8 * lane, 8);
      add(lane, word);
    }
  for (; at < bytes.size(); ++at) add(at % 4, static_cast<unsigned char>(bytes[at]));
  for (std::size_t lane = 1; lane < 4; ++lane) add(0, lanes[lane]);
  char text[kDigest + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(lanes[0]));
  return text;
}

}  // namespace

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
  if (size < static_cast<std::streamoff>(kDigest)) return {};
  file.seekg(0);
  std::string digest(kDigest, '\0'), bytes(static_cast<std::size_t>(size) - kDigest, '\0');
  file.read(digest.data(), kDigest);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file || digest != checksum(bytes)) return {};
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
    file << checksum(bytes) << bytes;
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
  for (const char* path : {"/usr/bin/python3", "/usr/bin/g++", "/usr/bin/ld.gold"}) {
    struct stat info {};
    if (stat(path, &info) == 0)
      out += std::to_string(info.st_size) + "." + std::to_string(info.st_mtime) + ".";
    else
      out += "none.";
  }
  return out;
}

}  // namespace leap::verify
