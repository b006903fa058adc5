#include "verify/kernel_problem.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "base/text.hpp"

namespace leap::verify::kernel {
namespace {

constexpr std::size_t kMaxKeptBytes = std::size_t{512} << 20, kMaxKept = 256;

sandbox::Limits reference_limits() {
  sandbox::Limits limits;
  limits.cpu_s = 300;
  limits.wall_s = 900;
  limits.memory_mb = 8192;
  return limits;
}

}  // namespace

const Trial& Problem::trial(std::size_t number) {
  {
    std::lock_guard lock(mutex_);
    if (trials_[number]) return *trials_[number];
  }
  auto made = std::make_unique<const Trial>(make_trial(check_, key_, number));
  std::lock_guard lock(mutex_);
  if (!trials_[number]) trials_[number] = std::move(made);
  return *trials_[number];
}

const std::vector<std::string>* Problem::wanted(std::size_t number) {
  std::lock_guard lock(mutex_);
  return wanted_[number].get();
}

std::size_t Problem::bytes() const {
  std::lock_guard lock(mutex_);
  std::size_t out = 0;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i])
      for (const Input& input : trials_[i]->inputs) out += input.bytes.size();
    if (wanted_[i])
      for (const std::string& output : *wanted_[i]) out += output.size();
  }
  return out;
}

std::string Problem::run_reference(const std::vector<std::size_t>& missing, Workshop& workshop,
                                   Pool& judges) {
  if (!reference_) reference_ = workshop.reference(check_);
  if (!reference_->failed.empty()) return "The reference does not compile.\n" + reference_->message;
  std::vector<const Trial*> trials;
  for (const std::size_t number : missing) trials.push_back(&trial(number));
  RunSettings settings;
  settings.limits = reference_limits();
  for (int attempt = 0;; ++attempt) {
    Lease lease(judges);
    lease.keep(*reference_);
    try {
      const Run run = run_trials(lease, check_, trials, settings, [](const TrialRun&) { return true; });
      for (std::size_t i = 0; i < missing.size(); ++i) {
        const std::string where = "The reference, in trial " + std::to_string(missing[i] + 1) + ": ";
        if (i >= run.trials.size() || !run.trials[i].done)
          return where + "it did not return. " + shorten(strip(to_utf8(run.ended.err)), 300);
        const TrialRun& one = run.trials[i];
        if (one.threw) return where + "it threw an exception.";
        if (one.guard >= 0) return where + "it wrote outside `" + check_.arguments[one.guard].name + "`.";
        if (one.mutated >= 0)
          return where + "it changed its input `" + check_.arguments[one.mutated].name + "`.";
        std::lock_guard lock(mutex_);
        wanted_[missing[i]] = std::make_unique<const std::vector<std::string>>(one.outputs);
      }
      return "";
    } catch (const sandbox::Fault&) {
      lease.renew();
      if (attempt > 0) throw;
    }
  }
}

std::string Problem::find_wanted(std::size_t count, Workshop& workshop, Pool& judges) {
  std::lock_guard one(reference_mutex_);
  if (!trouble_.empty()) return trouble_;
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < std::min(count, wanted_.size()); ++i)
    if (!wanted(i)) missing.push_back(i);
  if (missing.empty()) return "";
  trouble_ = run_reference(missing, workshop, judges);
  return trouble_;
}

std::shared_ptr<Problem> Problems::get(const Json& check, std::uint64_t seed, std::string_view id) {
  const std::uint64_t key = problem_key(seed, id);
  const std::string name = std::to_string(key) + " " + sha256(check.dump());
  std::lock_guard lock(mutex_);
  for (auto at = recent_.begin(); at != recent_.end(); ++at) {
    if (at->first != name) continue;
    recent_.splice(recent_.begin(), recent_, at);
    return at->second;
  }
  recent_.emplace_front(name, std::make_shared<Problem>(check, key));
  std::size_t bytes = 0, kept = 0;
  for (auto at = recent_.begin(); at != recent_.end();) {
    bytes += at->second->bytes();
    const bool over = ++kept > kMaxKept || (kept > 1 && bytes > kMaxKeptBytes);
    at = over ? recent_.erase(at) : std::next(at);
  }
  return recent_.front().second;
}

}  // namespace leap::verify::kernel
