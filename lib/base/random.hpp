/// Counter-based randomness: a draw depends on its key and position alone, never on what was drawn before, so
/// results do not depend on jobs, order, batching or resume.
#pragma once

#include <cstdint>
#include <string_view>

namespace leap {

/// FNV-1a, 64 bits: stable across runs and machines.
std::uint64_t hash64(std::string_view bytes, std::uint64_t basis = 0xcbf29ce484222325ULL);

/// The key of all draws of one turn. `rollout` and `turn` count from 0.
std::uint64_t draw_key(std::uint64_t seed, std::string_view id, std::uint64_t rollout, std::uint64_t turn);

/// The 64 random bits at `position` of the stream `key` (splitmix64's finaliser over key and position).
std::uint64_t random_bits(std::uint64_t key, std::uint64_t position);

/// Uniform in [0, 1) with 53 bits.
double uniform(std::uint64_t key, std::uint64_t position);

}  // namespace leap
