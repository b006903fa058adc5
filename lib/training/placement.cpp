#include "training/placement.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"

namespace leap::training {
namespace {

constexpr int kMostRanks = 1 << 20;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

int number(const char* name, int low, int high) {
  const std::string_view text = variable(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value >= high) {
    throw UsageError(std::string(name) + (text.empty() ? " is not set" : " is '" + std::string(text) + "'") +
                     "; several processes need a number from " + std::to_string(low) + " to " +
                     std::to_string(high - 1) + " there");
  }
  return value;
}

}  // namespace

Placement placement_from_environment() {
  const bool named = !variable("RANK").empty() || !variable("WORLD_SIZE").empty();
  // A batch script has SLURM_PROCID too, without being one of several.
  const bool step = !variable("SLURM_STEP_ID").empty() || !variable("MASTER_ADDR").empty();
  const bool slurm = !named && step && !variable("SLURM_PROCID").empty() && !variable("SLURM_NTASKS").empty();
  Placement place;
  if (!named && !slurm) return place;
  place.size = number(slurm ? "SLURM_NTASKS" : "WORLD_SIZE", 1, kMostRanks);
  place.rank = number(slurm ? "SLURM_PROCID" : "RANK", 0, place.size);
  const char* local = slurm ? "SLURM_LOCALID" : "LOCAL_RANK";
  if (!variable(local).empty()) place.local_rank = number(local, 0, kMostRanks);
  if (place.size == 1) return place;
  place.address = variable("MASTER_ADDR");
  if (place.address.empty())
    throw UsageError("MASTER_ADDR is not set; several processes need the address of rank 0's machine there");
  place.port = number("MASTER_PORT", 1, 1 << 16);
  if (variable("TORCHELASTIC_USE_AGENT_STORE") == "True") {
    place.agent_prefix = "/worker/attempt_" + std::string(variable("TORCHELASTIC_RESTART_COUNT"));
  }
  return place;
}

}  // namespace leap::training
