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
  std::string base;
  Clock::time_point down_until;   ///< no new request before
  Clock::time_point last_answer;  ///< of the last one that showed it is there
  std::optional<Clock::time_point> away_since;
  std::string away_because;
};

Servers::Servers(ServersOptions options) : options_(std::move(options)) {
  if (const char* key = std::getenv(options_.api_key_env.c_str())) key_ = key;
  for (const char c : key_) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
      throw Error("the API key in " + options_.api_key_env + " holds white space or a control character");
  }
  for (const std::string& url : options_.urls) {
    servers_.push_back(std::make_unique<Server>());
    servers_.back()->base = base_of(url);
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

Servers::Server& Servers::pick() {
  while (true) {
    double shortest = kMaxWait;
    bool away = true;
    {
      const std::lock_guard lock(mutex_);
      const auto now = Clock::now();
      for (std::size_t i = 0; i < servers_.size(); ++i) {
        Server& server = *servers_[(next_ + i) % servers_.size()];
        const double left = seconds_between(now, server.down_until);
        if (left <= 0) {
          next_ = (next_ + i + 1) % servers_.size();
          return server;
        }
        shortest = std::min(shortest, left);
        away = away && server.away_since.has_value();
      }
    }
    wait(shortest, away);
  }
}

Json Servers::post(Session& session, const std::string& path, const Json& body,
                   const std::function<std::string(const Json&)>& check) {
  const std::string text = jsonl::dump(body);
  std::optional<Clock::time_point> first_failure;
  int failures = 0;
  while (true) {
    Server& server = pick();
    if (cancel_) throw Interrupted();
    const Answer answer = session.post(server.base + path, text);
    if (cancel_) throw Interrupted();

    std::string why = answer.failure;
    if (answer.status >= 200 && answer.status < 300) {
      try {
        Json json = jsonl::parse_record(answer.body);
        why = check(json);
        if (why.empty()) {
          const std::lock_guard lock(mutex_);
          server.away_since.reset();
          server.last_answer = Clock::now();
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
    if (!malformed && !worth_retry(answer)) {
      if (status == 401 || status == 403 || status == 404 || (status >= 300 && status < 400))
        throw Error(why);
      throw Refused(status, why);
    }

    const auto now = Clock::now();
    const bool away = answer.unreachable || status == 502 || status == 503 || status == 504;
    if (!answer.unreachable) ++failures;
    if (!first_failure) first_failure = now;
    double delay = answer.retry_after_s ? std::min(*answer.retry_after_s, kMaxWait)
                                        : backoff_s(std::max(failures, 1), jitter());
    bool answers_others = false;
    {
      const std::lock_guard lock(mutex_);
      if (away) {
        if (!server.away_since) server.away_since = now;
        server.away_because = answer.unreachable ? answer.failure : "status " + std::to_string(status);
        if (answer.unreachable) {
          // Its own backoff, by how long it has been away.
          delay = std::clamp(seconds_between(*server.away_since, now), 0.25, 8.0);
        }
      } else {
        server.away_since.reset();
        server.last_answer = now;
      }
      if (away || answer.retry_after_s) server.down_until = std::max(server.down_until, after(delay));
      answers_others = server.last_answer > *first_failure;
    }
    if (away) check_away();
    if (failures >= options_.tries && (!away || answers_others))
      throw RecordError(why + " (" + std::to_string(failures) + " tries)");
    // Where another server is healthy it is asked at once instead of one that is away or busy.
    if (!away && !answer.retry_after_s) wait(delay, false);
  }
}

}  // namespace leap::http
