#include "verify/limits.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "records/records.hpp"

namespace leap::verify {

using records::find;

double number_of(const Json& object, const char* name, double otherwise, const std::string& where) {
  const Json* value = find(object, name);
  if (!value || value->is_null()) return otherwise;
  if (!value->is_number() || !(value->get<double>() >= 0))
    throw RecordError(where + "." + name + ": must be a number, 0 or more");
  return value->get<double>();
}

sandbox::Limits limits_of(const Json& task) {
  sandbox::Limits limits;
  const Json* given = find(task, "limits");
  if (!given || given->is_null()) return limits;
  if (!given->is_object()) throw RecordError("task.limits: must be an object");
  limits.cpu_s = number_of(*given, "cpu_s", limits.cpu_s, "task.limits");
  limits.wall_s = number_of(*given, "wall_s", limits.wall_s, "task.limits");
  limits.memory_mb =
      static_cast<int>(std::min(1e6, number_of(*given, "memory_mb", limits.memory_mb, "task.limits")));
  limits.output_kb =
      static_cast<int>(std::min(6e4, number_of(*given, "output_kb", limits.output_kb, "task.limits")));
  if (limits.cpu_s <= 0 || limits.wall_s <= 0 || limits.memory_mb <= 0)
    throw RecordError("task.limits: must be more than 0");
  limits.file_mb = std::max(limits.file_mb, limits.output_kb / 1024 + 1);
  return limits;
}

sandbox::Limits judge_limits(const sandbox::Limits& candidate) {
  sandbox::Limits limits;
  limits.cpu_s = candidate.cpu_s + 10;
  limits.wall_s = candidate.wall_s + 120;
  limits.memory_mb = 2048;
  limits.output_kb = 16 << 10;
  limits.file_mb = 64;
  return limits;
}

}  // namespace leap::verify
