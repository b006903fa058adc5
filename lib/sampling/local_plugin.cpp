#include "sampling/local_plugin.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>

#include "base/error.hpp"

namespace leap::sampling {
namespace {

MakeLocalBackend* load_entry() {
  namespace fs = std::filesystem;
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& dir : {here / "../lib/leaptools", here / "../lib", here}) {
    const fs::path file = dir / kLocalLibrary;
    if (!fs::exists(file)) continue;
    // Read when LibTorch's OpenMP is loaded: its threads must not spin while others have work.
    ::setenv("OMP_WAIT_POLICY", "PASSIVE", 0);
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* entry = library ? ::dlsym(library, kLocalEntry) : nullptr;
    if (!entry) throw Error(std::string("local models cannot be loaded: ") + ::dlerror());
    return reinterpret_cast<MakeLocalBackend*>(entry);
  }
  throw Error(
      std::string("local models need ") + kLocalLibrary +
      ", which this build has not (LEAP_TORCH=OFF); give a server with --url, or build with LibTorch");
}

}  // namespace

std::unique_ptr<Backend> load_local_backend(const LocalOptions& options) {
  static MakeLocalBackend* const make = load_entry();
  return std::unique_ptr<Backend>(make(options));
}

}  // namespace leap::sampling
