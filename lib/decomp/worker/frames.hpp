/// What the engine and its worker say to each other inside frames.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/frames.hpp"

namespace leap::decomp {

/// Numbers inside a field.
template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The next number of `bytes`; 0 behind its end.
template <class T>
T take(std::string_view& bytes) {
  T value{};
  if (bytes.size() < sizeof value) {
    bytes = {};
    return value;
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

/// How a run ended, as the worker tells it.
enum class RunEnd : std::uint8_t { kExit, kSignal, kCpu, kWall, kMemory, kOutput };
enum RunFlags : std::uint8_t {
  kMemoryError = 1,  ///< ended by an uncaught MemoryError
  kComplete = 2,     ///< a called program handed its result over
  kSyntaxError = 4,  ///< the text does not compile
  kUnsure = 8,       ///< tree: to be run by itself
  kCollected = 16,   ///< tree: it waited for others, whose leaves it hands on
};

}  // namespace leap::decomp
