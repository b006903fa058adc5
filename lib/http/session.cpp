#include "http/session.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <mutex>

#include "base/error.hpp"
#include "base/text.hpp"

namespace leap::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxBody = std::size_t{1} << 30;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<double> seconds_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !strip(end).empty() || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

bool is_loopback(const std::string& url) {
  CURLU* parts = curl_url();
  char* host = nullptr;
  bool loopback = false;
  if (curl_url_set(parts, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
      curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
    const std::string_view name = host;
    loopback = name == "localhost" || name.substr(0, 4) == "127." || name == "[::1]";
  }
  curl_free(host);
  curl_url_cleanup(parts);
  return loopback;
}

/// What the callbacks of one transfer work on.
struct Transfer {
  Answer answer;
  bool has_ms = false;
  bool too_long = false, stalled = false;
  double stall_s = 0;
  curl_off_t received = 0;
  Clock::time_point last_byte;
  const std::atomic<bool>* cancel = nullptr;
};

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.answer.body.size() + size * count > kMaxBody) {
    transfer.too_long = true;
    return 0;
  }
  transfer.answer.body.append(data, size * count);
  return size * count;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  const std::string name = lower(line.substr(0, colon));
  const std::string value(strip(line.substr(colon + 1)));
  Answer& answer = transfer.answer;
  if (name == "retry-after-ms") {
    if (const auto ms = seconds_of(value)) {
      answer.retry_after_s = *ms / 1000;
      transfer.has_ms = true;
    }
  } else if (name == "retry-after" && !transfer.has_ms) {
    answer.retry_after_s = parse_retry_after(value, static_cast<double>(std::time(nullptr)));
  } else if (name == "x-should-retry") {
    if (value == "true") answer.should_retry = true;
    if (value == "false") answer.should_retry = false;
  }
  return line.size();
}

int on_progress(void* user, curl_off_t, curl_off_t received, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.cancel != nullptr && transfer.cancel->load()) return 1;
  const auto now = Clock::now();
  if (received != transfer.received) {
    transfer.received = received;
    transfer.last_byte = now;
  }
  transfer.stalled =
      received > 0 && std::chrono::duration<double>(now - transfer.last_byte).count() > transfer.stall_s;
  return transfer.stalled ? 1 : 0;
}

}  // namespace

std::optional<double> parse_retry_after(const std::string& value, double now) {
  if (const auto seconds = seconds_of(value)) return seconds;
  const std::time_t date = curl_getdate(value.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::max(0.0, static_cast<double>(date) - now);
}

struct Session::Impl {
  Limits limits;
  const std::atomic<bool>* cancel;
  CURL* curl = nullptr;
  curl_slist* headers = nullptr;

  void header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    headers = longer;
  }
};

Session::Session(const Limits& limits, std::string bearer, const std::atomic<bool>* cancel)
    : impl_(std::make_unique<Impl>()) {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw Error("libcurl cannot be initialised");
  });
  impl_->limits = limits;
  impl_->cancel = cancel;
  impl_->curl = curl_easy_init();
  if (impl_->curl == nullptr) throw std::bad_alloc();
  impl_->header("Content-Type: application/json");
  impl_->header("Accept: application/json");
  impl_->header("Expect:");
  if (!bearer.empty()) impl_->header("Authorization: Bearer " + bearer);

  CURL* curl = impl_->curl;
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl, option, value); };
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_HTTPHEADER, impl_->headers);
  set(CURLOPT_USERAGENT, "leaptools");
  set(CURLOPT_ACCEPT_ENCODING, "");
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, 30L);
  set(CURLOPT_TCP_KEEPINTVL, 15L);
  set(CURLOPT_CONNECTTIMEOUT_MS, std::lround(1000 * limits.connect_s));
  set(CURLOPT_TIMEOUT_MS, std::lround(1000 * limits.total_s));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, on_progress);
  set(CURLOPT_WRITEFUNCTION, on_body);
  set(CURLOPT_HEADERFUNCTION, on_header);
}

Session::~Session() {
  curl_easy_cleanup(impl_->curl);
  curl_slist_free_all(impl_->headers);
}

Answer Session::post(const std::string& url, const std::string& json) {
  curl_easy_setopt(impl_->curl, CURLOPT_POST, 1L);
  curl_easy_setopt(impl_->curl, CURLOPT_POSTFIELDS, json.data());
  curl_easy_setopt(impl_->curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
  return perform(url);
}

Answer Session::get(const std::string& url) {
  curl_easy_setopt(impl_->curl, CURLOPT_HTTPGET, 1L);
  return perform(url);
}

Answer Session::perform(const std::string& url) {
  CURL* curl = impl_->curl;
  Transfer transfer;
  transfer.stall_s = impl_->limits.stall_s;
  transfer.last_byte = Clock::now();
  transfer.cancel = impl_->cancel;
  char detail[CURL_ERROR_SIZE] = "";
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl, option, value); };
  set(CURLOPT_URL, url.c_str());
  // A server on this machine is never behind the environment's proxy.
  if (is_loopback(url)) {
    set(CURLOPT_PROXY, "");
  } else {
    set(CURLOPT_PROXY, static_cast<const char*>(nullptr));
  }
  set(CURLOPT_ERRORBUFFER, detail);
  set(CURLOPT_XFERINFODATA, &transfer);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_HEADERDATA, &transfer);
  const CURLcode code = curl_easy_perform(curl);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));

  Answer& answer = transfer.answer;
  if (code == CURLE_OK) {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    return std::move(answer);
  }
  answer.failure = *detail != 0 ? detail : curl_easy_strerror(code);
  if (transfer.too_long) answer.failure = "the answer is longer than 1 GiB";
  if (transfer.stalled) answer.failure = "the answer stood still";
  answer.timed_out = transfer.stalled || code == CURLE_OPERATION_TIMEDOUT;
  curl_off_t connected_us = 0;
  curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connected_us);
  answer.unreachable = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
                       code == CURLE_COULDNT_RESOLVE_PROXY ||
                       (code == CURLE_OPERATION_TIMEDOUT && connected_us == 0);
  return std::move(answer);
}

}  // namespace leap::http
