#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"

namespace {

namespace fs = std::filesystem;

TEST_CASE("A file is read whole", "[base]") {
  const fs::path dir = fs::temp_directory_path() / ("leap-base-test-" + std::to_string(getpid()));
  fs::create_directory(dir);
  const fs::path file = dir / "file";
  for (const std::size_t size : {0, 1, 4096, 200000}) {
    std::string text(size, 'x');
    if (size > 2) text[1] = '\0';
    std::ofstream(file, std::ios::binary) << text;
    CHECK(leap::read_file(file) == text);
  }
  CHECK_THROWS_WITH(leap::read_file(dir), Catch::Contains(dir.string() + ": Is a directory"));
  CHECK_THROWS_WITH(leap::read_file(dir / "none"), Catch::Contains("none: No such file"));
  CHECK_THROWS_AS(leap::read_file(dir / "none"), leap::Error);
  fs::remove_all(dir);
}

TEST_CASE("A file that does not say its size is read whole", "[base]") {
  std::ifstream in("/proc/filesystems");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(!text.empty());
  CHECK(leap::read_file("/proc/filesystems") == text);
}

}  // namespace
