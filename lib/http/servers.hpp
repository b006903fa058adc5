/// Several OpenAI-compatible servers behind one door: a request goes to the next healthy one and is retried
/// as those servers expect.
///
/// Retried: no connection, a broken or malformed answer, and the statuses 408, 409, 429 and >= 500, unless
/// x-should-retry says otherwise; after retry-after-ms or retry-after (at most kMaxWait), else after 0.5 *
/// 2^n seconds, at most 8, with jitter. A server that cannot be reached, or answers 502, 503 or 504, is away:
/// it gets no new request until its wait is over. When all have been away for `away_s`, the run stops.
/// A request goes to the server with the most room. How many a server gets at a time adapts to it: fewer,
/// by a third, when it is overloaded (429, 503, 504, or no answer in time), one more for every such number
/// of sound answers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "http/session.hpp"
#include "jsonl/json.hpp"

namespace leap::http {

struct ServersOptions {
  std::vector<std::string> urls;  ///< "http://host:8000"; one without a path gets "/v1"
  Limits limits;
  int tries = 8;         ///< of one request
  double away_s = 60;    ///< how long all servers may be away
  int concurrency = 32;  ///< most requests in flight, at one server too
  /// Does a message refuse the request itself, though its status says that the server is in trouble?
  std::function<bool(std::string_view message)> is_refusal = [](std::string_view) { return false; };
  std::string api_key_env = "OPENAI_API_KEY";
};

/// The server refused this request as it stands (4xx).
class Refused : public RecordError {
 public:
  Refused(long status_code, const std::string& message) : RecordError(message), status(status_code) {}
  long status;
};

/// The run has been asked to finish while the request was waiting for another try.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

inline constexpr double kMaxWait = 600;

/// Seconds before try `failures` + 1, for a `jitter` in [0, 1).
double backoff_s(int failures, double jitter);

/// Is an answer with this status worth another try?
bool worth_retry(const Answer& answer);

/// Where a path begins: at the URL as given (".../v1"), or at the server's root, which is that without "/v1".
enum class At { kBase, kRoot };

/// Thread-safe.
class Servers {
 public:
  explicit Servers(ServersOptions options);
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;
  ~Servers();

  /// A connection for one thread's calls of post().
  std::unique_ptr<Session> session() const;

  /// Posts to `path` ("/completions") of a healthy server. `check` gives "" or what is wrong with the answer.
  /// Throws Refused; RecordError when the tries are used up; Interrupted; and Error when all servers stay
  /// away, or refuse every request (no such path or model, no authorisation).
  Json post(Session& session, At at, const std::string& path, const Json& body,
            const std::function<std::string(const Json&)>& check);

  /// What `path` of a server that is there shows: a JSON object, or null where it has no such path.
  Json look(Session& session, At at, const std::string& path);

  /// Ends all transfers and waits, for good.
  void cancel() { cancel_ = true; }

 private:
  struct Server;
  class Place;  ///< one request in flight
  Server& pick();
  void leave(Server& server);
  void wait(double seconds, bool away) const;
  void check_away() const;
  std::string clean(std::string text) const;

  ServersOptions options_;
  std::string key_;
  std::atomic<bool> cancel_{false};
  mutable std::mutex mutex_;
  std::condition_variable left_;  ///< a request has left its server
  std::vector<std::unique_ptr<Server>> servers_;
  std::size_t next_ = 0;
};

}  // namespace leap::http
