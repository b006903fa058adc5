#include "base/random.hpp"

namespace leap {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

}  // namespace

std::uint64_t hash64(std::string_view bytes, std::uint64_t basis) {
  std::uint64_t h = basis;
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001b3ULL;
  return h;
}

std::uint64_t draw_key(std::uint64_t seed, std::string_view id, std::uint64_t rollout, std::uint64_t turn) {
  std::uint64_t key = mix(seed + kGolden);
  for (std::uint64_t part : {hash64(id), rollout, turn}) key = mix((key ^ part) + kGolden);
  return key;
}

std::uint64_t random_bits(std::uint64_t key, std::uint64_t position) {
  return mix(mix(key + kGolden) ^ (position * kGolden + kGolden));
}

double uniform(std::uint64_t key, std::uint64_t position) {
  return static_cast<double>(random_bits(key, position) >> 11) * 0x1.0p-53;
}

}  // namespace leap
