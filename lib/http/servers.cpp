#include "http/servers.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/interrupt.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace leap::http {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double jitter() {
  static std::atomic<std::uint64_t> draws{0};
  static const auto key = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  return uniform(key, draws++);
}

std::string base_of(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  const auto scheme = url.find("://");
  if (scheme == std::string::npos ||
      (url.compare(0, 7, "http://") != 0 && url.compare(0, 8, "https://") != 0))
    throw UsageError("--url " + url + ": must start with http:// or https://");
  if (url.find('/', scheme + 3) == std::string::npos) url += "/v1";
  return url;
}

/// Without the password that may stand in a URL.
std::string shown(const std::string& url) {
  const auto host = url.find("://") + 3;
  const auto at = url.substr(0, url.find('/', host)).rfind('@');
  return at == std::string::npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
}

/// The message in an error's body, or the body's start.
std::string message_of(const std::string& body) {
  std::string text = body;
  try {
    const Json json = jsonl::parse(body);
    if (json.is_object()) {
      for (const char* key : {"error", "message", "detail"}) {
        const auto it = json.find(key);
        if (it == json.end()) continue;
        const auto inner = it->is_object() ? it->find("message") : it;
        text = inner != it->end() && inner->is_string() ? inner->get<std::string>() : jsonl::dump(*it);
        break;
      }
    }
  } catch (const RecordError&) {
    // The server's own words will do.
  }
  return shorten(strip(to_utf8(text)), 300);
}

/// Is the server away, as opposed to in trouble with one request?
bool is_away(const Answer& answer) {
  return answer.unreachable || answer.status == 502 || answer.status == 503 || answer.status == 504;
}

}  // namespace

double backoff_s(int failures, double jitter) {
  return std::min(8.0, 0.5 * std::pow(2.0, std::min(failures - 1, 10))) * (1 - 0.25 * jitter);
}

bool worth_retry(const Answer& answer) {
  if (answer.should_retry) return *answer.should_retry;
  const long s = answer.status;
  return s == 0 || s == 408 || s == 409 || s == 429 || s >= 500;
}

struct Servers::Server {
  std::string base, root;
  Clock::time_point down_until;   ///< no new request before
  Clock::time_point last_answer;  ///< of the last one that showed it is there
  int in_flight = 0;
  double window = 1;           ///< most requests in flight, as far as is known
  Clock::time_point narrowed;  ///< when the window became smaller
  std::optional<Clock::time_point> away_since;
  std::string away_because;

  void sound() {
    away_since.reset();
    last_answer = Clock::now();
  }

  /// A request begun at `start` has failed; another one is worth a try after `delay` seconds.
  void failed(const Answer& answer, Clock::time_point start, double delay) {
    const auto now = Clock::now();
    const bool away = is_away(answer);
    if (away) {
      if (!away_since) away_since = now;
      away_because = answer.unreachable ? answer.failure : "status " + std::to_string(answer.status);
      // Its own backoff, by how long it has been away.
      if (answer.unreachable) delay = std::clamp(seconds_between(*away_since, now), 0.25, 8.0);
    } else {
      sound();
    }
    if (away || answer.retry_after_s) down_until = std::max(down_until, after(delay));
    const bool overloaded =
        answer.status == 429 || answer.status == 503 || answer.status == 504 || answer.timed_out;
    if (overloaded && start > narrowed) {  // once for all that were in flight together
      window = std::max(1.0, window * 2 / 3);
      narrowed = now;
    }
  }
};

Servers::Servers(ServersOptions options) : options_(std::move(options)) {
  if (const char* key = std::getenv(options_.api_key_env.c_str())) key_ = key;
  for (const char c : key_) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
      throw Error("the API key in " + options_.api_key_env + " holds white space or a control character");
  }
  for (const std::string& url : options_.urls) {
    servers_.push_back(std::make_unique<Server>());
    Server& server = *servers_.back();
    server.base = base_of(url);
    server.root = server.base;
    const auto end = server.root.size() - std::min<std::size_t>(3, server.root.size());
    if (server.root.compare(end, 3, "/v1") == 0) server.root.resize(end);
    server.window = std::ceil(options_.concurrency / static_cast<double>(options_.urls.size()));
  }
}

Servers::~Servers() = default;

std::unique_ptr<Session> Servers::session() const {
  return std::make_unique<Session>(options_.limits, key_, &cancel_);
}

std::string Servers::clean(std::string text) const {
  if (key_.empty()) return text;
  for (auto at = text.find(key_); at != std::string::npos; at = text.find(key_)) {
    text.replace(at, key_.size(), "(key)");
  }
  return text;
}

/// Waits; after a signal only briefly, and not at all for a server that is away.
void Servers::wait(double seconds, bool away) const {
  const auto end = after(seconds);
  while (!cancel_) {
    const double left = seconds_between(Clock::now(), end);
    if (left <= 0) return;
    if (interrupted() != 0 && (away || left > 8)) throw Interrupted();
    pollfd fd{interrupted() == 0 ? interrupt_fd() : -1, POLLIN, 0};
    poll(&fd, 1, static_cast<int>(1000 * std::min(left, 0.25)) + 1);
  }
  throw Interrupted();
}

/// Stops the run when no server has been there for too long.
void Servers::check_away() const {
  const auto now = Clock::now();
  std::string why;
  const std::lock_guard lock(mutex_);
  for (const auto& server : servers_) {
    if (!server->away_since || seconds_between(*server->away_since, now) < options_.away_s) return;
    why += (why.empty() ? "" : "; ") + shown(server->base) + ": " + server->away_because;
  }
  throw Error("no server can be reached: " + clean(why));
}

/// The healthy server with the most room; waits for one.
Servers::Server& Servers::pick() {
  while (true) {
    double shortest = kMaxWait;
    bool away = true;
    {
      std::unique_lock lock(mutex_);
      const auto now = Clock::now();
      Server* best = nullptr;
      bool full = false;
      for (std::size_t i = 0; i < servers_.size(); ++i) {
        Server& server = *servers_[(next_ + i) % servers_.size()];
        const double left = seconds_between(now, server.down_until);
        if (left > 0) {
          shortest = std::min(shortest, left);
          away = away && server.away_since.has_value();
        } else if (server.in_flight + 1 > server.window) {
          full = true;
        } else if (best == nullptr || server.in_flight / server.window < best->in_flight / best->window) {
          best = &server;
        }
      }
      if (best != nullptr) {
        next_ = (next_ + 1) % servers_.size();
        ++best->in_flight;
        return *best;
      }
      if (full) {
        if (cancel_) throw Interrupted();
        left_.wait_for(lock, std::chrono::milliseconds(100));
        continue;
      }
    }
    wait(shortest, away);
  }
}

void Servers::leave(Server& server) {
  const std::lock_guard lock(mutex_);
  --server.in_flight;
  left_.notify_one();
}

class Servers::Place {
 public:
  explicit Place(Servers& servers) : servers_(servers), server_(servers.pick()) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { servers_.leave(server_); }
  Server& server() { return server_; }
  Clock::time_point start() const { return start_; }

 private:
  Servers& servers_;
  Server& server_;
  const Clock::time_point start_ = Clock::now();
};

Json Servers::post(Session& session, At at, const std::string& path, const Json& body,
                   const std::function<std::string(const Json&)>& check) {
  const std::string text = jsonl::dump(body);
  std::optional<Clock::time_point> first_failure;
  int failures = 0;
  while (true) {
    double delay = 0;
    {
      Place place(*this);
      Server& server = place.server();
      if (cancel_) throw Interrupted();
      const Answer answer = session.post((at == At::kRoot ? server.root : server.base) + path, text);
      if (cancel_) throw Interrupted();

      std::string why = answer.failure;
      if (answer.status >= 200 && answer.status < 300) {
        try {
          Json json = jsonl::parse_record(answer.body);
          why = check(json);
          if (why.empty()) {
            const std::lock_guard lock(mutex_);
            server.sound();
            server.window = std::min<double>(options_.concurrency, server.window + 1 / server.window);
            return json;
          }
        } catch (const RecordError& e) {
          why = e.what();
        }
        why = "malformed answer: " + why;
      } else if (answer.status != 0) {
        why = "status " + std::to_string(answer.status);
        if (const std::string message = message_of(answer.body); !message.empty()) why += ": " + message;
      }
      why = clean(shown(server.base) + ": " + why);
      const long status = answer.status;
      const bool malformed = status >= 200 && status < 300;
      if (!malformed && (!worth_retry(answer) || (status >= 500 && options_.is_refusal(why)))) {
        if (status == 401 || status == 403 || status == 404 || (status >= 300 && status < 400))
          throw Error(why);
        throw Refused(status, why);
      }

      if (!answer.unreachable) ++failures;
      if (!first_failure) first_failure = Clock::now();
      delay = answer.retry_after_s ? std::min(*answer.retry_after_s, kMaxWait)
                                   : backoff_s(std::max(failures, 1), jitter());
      bool answers_others = false;
      const bool away = is_away(answer);
      {
        const std::lock_guard lock(mutex_);
        server.failed(answer, place.start(), delay);
        answers_others = server.last_answer > *first_failure;
      }
      if (away) check_away();
      if (failures >= options_.tries && (!away || answers_others))
        throw RecordError(why + " (" + std::to_string(failures) + " tries)");
      // Where another server is healthy it is asked at once instead of one that is away or busy.
      if (away || answer.retry_after_s) delay = 0;
    }
    if (delay > 0) wait(delay, false);
  }
}

Json Servers::look(Session& session, At at, const std::string& path) {
  while (true) {
    Place place(*this);
    Server& server = place.server();
    if (cancel_) throw Interrupted();
    const Answer answer = session.get((at == At::kRoot ? server.root : server.base) + path);
    if (cancel_) throw Interrupted();
    if (!is_away(answer)) {
      if (answer.status < 200 || answer.status >= 300) return nullptr;
      try {
        return jsonl::parse_record(answer.body);
      } catch (const RecordError&) {
        return nullptr;
      }
    }
    {
      const std::lock_guard lock(mutex_);
      server.failed(answer, place.start(), answer.retry_after_s.value_or(backoff_s(1, jitter())));
    }
    check_away();
  }
}

}  // namespace leap::http
