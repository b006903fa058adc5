/// The engine's side of a shared C++ program that serves its own runs (native/runtime.c), in a sandbox of its
/// own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "decomp/judge.hpp"
#include "decomp/native/protocol.h"
#include "sandbox/inside.hpp"

namespace leap::decomp {

/// What the programs of decompositions are linked with: a static library.
std::string_view cpp_runtime();

class CppServer {
 public:
  /// `program`: the binary. Error when there is no sandbox for it.
  CppServer(sandbox::Mode mode, const std::string& program);
  ~CppServer();
  CppServer(const CppServer&) = delete;
  CppServer& operator=(const CppServer&) = delete;

  struct Run {
    RunResult result;
    std::string calls;    ///< for each function, when it was first called (1, 2, ..; 0: never)
    bool unsure = false;  ///< it may have ended otherwise by itself
  };
  /// Fault when the server is lost: another one may be tried.
  Run run(const std::vector<int>& choice, const std::string& input, const sandbox::Limits& limits);

 private:
  void receive(void* data, std::size_t size, double patience_s);

  sandbox::Inside inside_;
};

}  // namespace leap::decomp
