/// The trials of a problem: what goes into each, made from hidden seeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/kernel_check.hpp"

namespace leap::verify::kernel {

/// One argument in one trial.
struct Input {
  std::size_t count = 0;  ///< elements; 1 for values
  std::vector<std::int64_t> shape;
  std::string bytes;  ///< of in, inout and values; empty for out
};

struct Trial {
  std::size_t number = 0, layout = 0;
  std::uint64_t poison = 0;   ///< bytes that fill outputs of integers, repeated
  std::vector<Input> inputs;  ///< one an argument
  bool empty = true;          ///< no output has an element
  bool is_benchmark = false;
  std::size_t bytes = 0;  ///< of all buffers
};

/// `key` follows from run seed and problem.
Trial make_trial(const Check& check, std::uint64_t key, std::size_t number);

/// The key of a problem's draws.
std::uint64_t problem_key(std::uint64_t seed, std::string_view id);

/// Byte `i` of an output's poison: floats hold NaN, the rest what differs from trial to trial.
unsigned char poison_byte(const Trial& trial, Dtype type, std::size_t i);

}  // namespace leap::verify::kernel
