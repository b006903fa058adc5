#include "training/retention.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "training/checkpoint.hpp"
#include "training/staged_directory.hpp"

namespace leap::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".step-";
constexpr const char* kRemoved = ".removed";
constexpr const char* kLink = "latest";

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 19 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void check(const std::error_code& error, const fs::path& path) {
  if (error) throw Error("cannot write " + path.string() + ": " + error.message());
}

}  // namespace

fs::path retired_path(const fs::path& out, const fs::path& old) {
  try {
    if (!is_checkpoint(old.string()) || !is_checkpoint(out.string())) return {};
    const std::int64_t step = read_step(old.string());
    if (step >= read_step(out.string())) return {};
    fs::path path = out;
    path += kMark + std::to_string(step);
    return fs::exists(path) ? fs::path() : path;
  } catch (const Error&) {  // it was being written when its writer was killed
    return {};
  }
}

void retain(const fs::path& target, std::int64_t keep) {
  const fs::path out = real_target(target), parent = out.parent_path();
  const std::string prefix = out.filename().string() + kMark;
  std::vector<std::pair<std::int64_t, fs::path>> older;
  std::vector<fs::path> removed;
  for (const auto& entry : fs::directory_iterator(parent)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && is_number(name.substr(prefix.size())))
      older.emplace_back(std::stoll(name.substr(prefix.size())), entry.path());
    if (name.starts_with('.' + prefix) && name.ends_with(kRemoved)) removed.push_back(entry.path());
  }
  std::sort(older.rbegin(), older.rend());
  std::error_code error;
  for (auto i = static_cast<std::size_t>(std::max<std::int64_t>(keep - 1, 0)); i < older.size(); ++i) {
    // Renamed first: what has a checkpoint's name is whole.
    removed.push_back(parent / ('.' + older[i].second.filename().string() + kRemoved));
    fs::rename(older[i].second, removed.back(), error);
    check(error, older[i].second);
  }
  for (const fs::path& path : removed) {
    fs::remove_all(path, error);
    check(error, path);
  }
  const fs::path link = parent / kLink, staged = parent / ('.' + out.filename().string() + ".link");
  if (fs::is_symlink(link) && fs::read_symlink(link) == out.filename()) return;
  fs::remove(staged, error);
  fs::create_directory_symlink(out.filename(), staged, error);
  check(error, staged);
  fs::rename(staged, link, error);
  check(error, link);
}

void check_link(const fs::path& out) {
  const fs::path link = real_target(out).parent_path() / kLink;
  if (fs::exists(fs::symlink_status(link)) && !fs::is_symlink(link))
    throw UsageError(link.string() + " is there and no link; --save-total-limit makes one of that name");
}

}  // namespace leap::training
