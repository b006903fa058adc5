/// Local models live in a shared library of their own, so that LibTorch is loaded only by a run that uses
/// one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "sampling/backend.hpp"

namespace leap::sampling {

struct LocalOptions {
  std::string model_dir;          ///< Hugging Face layout
  std::string adapter_dir;        ///< a PEFT LoRA adapter; empty: none
  std::string dtype = "float32";  ///< or bfloat16
  std::string device = "auto";    ///< or cpu, cuda
  int threads = 0;                ///< 0: as many as the machine has
  int batch_size = 32;            ///< most sequences decoded together
  std::size_t kv_memory_mb =
      0;  ///< most memory for keys and values; 0: no bound but batch_size. One request always fits
};

/// Loads the library (once) and the model. It is looked for beside the running program: ../lib/leaptools,
/// ../lib and the program's own directory. Throws Error when it is not there (built with LEAP_TORCH=OFF), and
/// what the model throws.
std::unique_ptr<Backend> load_local_backend(const LocalOptions& options);

/// The library's file, and its one function: leap_make_local_backend, which returns what the caller is to
/// delete.
inline constexpr char kLocalLibrary[] = "leap-local.so";
inline constexpr char kLocalEntry[] = "leap_make_local_backend";
using MakeLocalBackend = Backend*(const LocalOptions&);

}  // namespace leap::sampling
