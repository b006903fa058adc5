/// One HTTP connection that is kept open: posts or gets JSON, says how it went. Retrying is servers.hpp's.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace leap::http {

struct Limits {
  double connect_s = 5;
  double total_s = 600;
  double stall_s = 60;  ///< an answer that has begun and stands still for so long is given up
};

struct Answer {
  long status = 0;  ///< HTTP status; 0 when there is no whole answer
  std::string body;
  std::string failure;                  ///< why there is no whole answer
  bool unreachable = false;             ///< no connection could be made
  bool timed_out = false;               ///< the whole time, or the time to stand still, has passed
  std::optional<double> retry_after_s;  ///< from retry-after-ms or retry-after
  std::optional<bool> should_retry;     ///< from x-should-retry
};

/// Seconds that a retry-after header asks for: a number, or an HTTP date seen from `now` (Unix time).
std::optional<double> parse_retry_after(const std::string& value, double now);

/// Not thread-safe: one a thread.
class Session {
 public:
  /// `bearer` (an API key) may be empty. A transfer ends early once `*cancel` is set.
  Session(const Limits& limits, std::string bearer, const std::atomic<bool>* cancel = nullptr);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  Answer post(const std::string& url, const std::string& json);
  Answer get(const std::string& url);

 private:
  struct Impl;
  Answer perform(const std::string& url);
  std::unique_ptr<Impl> impl_;
};

}  // namespace leap::http
