#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdlib.h>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "http/servers.hpp"

using leap::Json;
using namespace leap::http;

namespace {

/// Listens on a port of its own and gives each connection the next of `answers`, raw; then closes it.
class Raw {
 public:
  explicit Raw(std::vector<std::string> answers) : answers_(std::move(answers)) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    REQUIRE(listen(fd_, 16) == 0);
    url_ = "http://user:secret@127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] {
      for (const std::string& answer : answers_) {
        const int peer = accept(fd_, nullptr, nullptr);
        if (peer < 0) return;
        std::string request;
        char buffer[4096];
        while (request.find("\r\n\r\n") == std::string::npos || request.back() != '}') {
          const auto got = read(peer, buffer, sizeof buffer);
          if (got <= 0) break;
          request.append(buffer, static_cast<std::size_t>(got));
        }
        requests_.push_back(request);
        (void)send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        shutdown(peer, SHUT_RDWR);
        close(peer);
      }
      close(fd_);
    });
  }
  ~Raw() { requests(); }
  const std::string& url() const { return url_; }
  /// Waits until all answers have been given.
  const std::vector<std::string>& requests() {
    if (thread_.joinable()) thread_.join();
    return requests_;
  }

 private:
  std::vector<std::string> answers_, requests_;
  int fd_;
  std::string url_;
  std::thread thread_;
};

std::string reply(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers +
         "\r\n" + body;
}

const std::string kGood = reply("200 OK", "", R"({"good":1})");

ServersOptions options_for(const Raw& raw) {
  ServersOptions options;
  options.urls = {raw.url()};
  options.tries = 3;
  options.away_s = 20;
  options.api_key_env = "LEAP_TEST_KEY";
  return options;
}

std::string is_good(const Json& json) {
  return json.contains("good") ? "" : "not good";
}

Json post(const ServersOptions& options) {
  Servers servers(options);
  const auto session = servers.session();
  return servers.post(*session, At::kBase, "/completions", Json{{"a", 1}}, is_good);
}

}  // namespace

TEST_CASE("retry-after is seconds or a date", "[http]") {
  CHECK(parse_retry_after("1.5", 0) == 1.5);
  CHECK(parse_retry_after(" 0 ", 0) == 0.0);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111777 - 30) == 30.0);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111777 + 30) == 0.0);
  CHECK(parse_retry_after("-1", 0) == std::nullopt);
  CHECK(parse_retry_after("soon", 0) == std::nullopt);
  CHECK(parse_retry_after("nan", 0) == std::nullopt);
}

TEST_CASE("the wait doubles up to 8 s, less up to a quarter", "[http]") {
  CHECK(backoff_s(1, 0) == 0.5);
  CHECK(backoff_s(2, 0) == 1.0);
  CHECK(backoff_s(5, 0) == 8.0);
  CHECK(backoff_s(1000, 0) == 8.0);
  CHECK(backoff_s(5, 1) == 6.0);
}

TEST_CASE("which statuses are worth another try", "[http]") {
  const auto worth = [](long status, std::optional<bool> should = {}) {
    Answer answer;
    answer.status = status;
    answer.should_retry = should;
    return worth_retry(answer);
  };
  for (long status : {0L, 408L, 409L, 429L, 500L, 502L, 503L, 529L}) CHECK(worth(status));
  for (long status : {301L, 400L, 401L, 404L, 422L}) CHECK_FALSE(worth(status));
  CHECK(worth(400, true));
  CHECK_FALSE(worth(500, false));
}

TEST_CASE("a request is tried again until it has a sound answer", "[http]") {
  Raw raw({reply("429 Too Many", "Retry-After-Ms: 10\r\n", "{}"), reply("200 OK", "", R"({"good":)"), kGood});
  CHECK(post(options_for(raw))["good"] == 1);
}

TEST_CASE("what servers see", "[http]") {
  setenv("LEAP_TEST_KEY", "sk-test", 1);
  Raw raw({kGood});
  post(options_for(raw));
  unsetenv("LEAP_TEST_KEY");
  const auto& seen = raw.requests();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].rfind("POST /v1/completions HTTP/1.1\r\n", 0) == 0);
  CHECK(seen[0].find("Content-Type: application/json\r\n") != std::string::npos);
  CHECK(seen[0].find("Authorization: Bearer sk-test\r\n") != std::string::npos);
  CHECK(seen[0].find("\r\n\r\n{\"a\":1}") != std::string::npos);
}

TEST_CASE("a refused request is no other's business", "[http]") {
  Raw raw({reply("400 Bad Request", "", R"({"error":{"message":"too long"}})")});
  try {
    post(options_for(raw));
    FAIL("not refused");
  } catch (const Refused& e) {
    CHECK(e.status == 400);
    CHECK(std::string(e.what()).find("status 400: too long") != std::string::npos);
    CHECK(std::string(e.what()).find("secret") == std::string::npos);
  }
}

TEST_CASE("x-should-retry has the last word", "[http]") {
  {
    Raw raw({reply("500 Oops", "X-Should-Retry: false\r\n", "{}")});
    CHECK_THROWS_AS(post(options_for(raw)), Refused);
  }
  Raw raw({reply("400 Hm", "X-Should-Retry: true\r\nRetry-After: 0\r\n", "{}"), kGood});
  CHECK(post(options_for(raw))["good"] == 1);
}

TEST_CASE("tries are bounded", "[http]") {
  const std::string bad = reply("500 Oops", "Retry-After: 0\r\n", "no JSON");
  Raw raw({bad, bad, bad});
  try {
    post(options_for(raw));
    FAIL("no error");
  } catch (const leap::RecordError& e) {
    CHECK(std::string(e.what()).find("status 500: no JSON (3 tries)") != std::string::npos);
  }
}

TEST_CASE("a broken answer is tried again", "[http]") {
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"good\":1}";
  Raw raw({half, "", kGood});
  CHECK(post(options_for(raw))["good"] == 1);
}

TEST_CASE("errors that every request would meet stop the run", "[http]") {
  for (const char* status : {"401 No", "403 No", "404 No"}) {
    setenv("LEAP_TEST_KEY", "sk-test", 1);
    Raw raw({reply(status, "", R"({"error":{"message":"wrong key sk-test"}})")});
    try {
      post(options_for(raw));
      FAIL("no error");
    } catch (const leap::RecordError&) {
      FAIL("one record's error");
    } catch (const leap::Error& e) {
      CHECK(std::string(e.what()).find("sk-test") == std::string::npos);
      CHECK(std::string(e.what()).find("wrong key (key)") != std::string::npos);
    }
    unsetenv("LEAP_TEST_KEY");
  }
}

TEST_CASE("503 is waited for, and the run stops when it stays", "[http]") {
  {
    const std::string loading = reply("503 Loading", "Retry-After: 0\r\n", "{}");
    Raw raw({loading, loading, loading, loading, kGood});  // more than its tries
    CHECK(post(options_for(raw))["good"] == 1);
  }
  const std::string loading = reply("503 Loading", "", "{}");
  Raw raw({loading});
  ServersOptions options = options_for(raw);
  options.away_s = 0;
  CHECK_THROWS_WITH(post(options), Catch::Contains("no server can be reached") && Catch::Contains("503"));
}

TEST_CASE("the other server takes over from one that is away", "[http]") {
  Raw raw({kGood, kGood, kGood});
  ServersOptions options = options_for(raw);
  options.urls.insert(options.urls.begin(), "http://127.0.0.1:1");
  Servers servers(options);
  const auto session = servers.session();
  for (int i = 0; i < 3; ++i) CHECK(servers.post(*session, At::kBase, "/x", Json::object(), is_good)["good"] == 1);
}

TEST_CASE("URLs and keys are checked", "[http]") {
  ServersOptions options;
  options.urls = {"localhost:8000"};
  CHECK_THROWS_AS(Servers(options), leap::UsageError);
  options.urls = {"http://localhost:8000"};
  options.api_key_env = "LEAP_TEST_KEY";
  setenv("LEAP_TEST_KEY", "two\nlines", 1);
  CHECK_THROWS_WITH(Servers(options), Catch::Contains("LEAP_TEST_KEY") && !Catch::Contains("lines"));
  unsetenv("LEAP_TEST_KEY");
}
