// Talks to the supervisor for a C++ program: answers calls to a function by value, or calls one that is elsewhere.
// Values are marshal, version 2, of plain data.
#pragma once

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frames.h"

void leap_driver_run();

namespace leap_driver {

struct Misfit : std::invalid_argument {
  Misfit() : std::invalid_argument("an argument does not fit the parameter's type") {}
};

/// A failed assertion of tests that share a process with the candidate: nothing that the candidate brings comes between.
[[noreturn]] inline void fail() {
  leave(86);
}

// ---- values out ----

template <class T>
std::enable_if_t<std::is_same_v<T, bool>> put(std::string& out, T value) {
  out += value ? 'T' : 'F';
}
inline void put(std::string& out, std::nullptr_t) {
  out += 'N';
}
inline void put(std::string& out, double value) {
  char bytes[8];
  std::memcpy(bytes, &value, 8);
  out += 'g';
  out.append(bytes, 8);
}
inline void put(std::string& out, float value) {
  put(out, static_cast<double>(value));
}
inline void put(std::string& out, long double value) {
  put(out, static_cast<double>(value));
}
inline void put(std::string& out, const std::string& value) {
  out += 'u';
  put32(out, static_cast<std::uint32_t>(value.size()));
  out += value;
}
inline void put(std::string& out, const char* value) {
  put(out, std::string(value));
}
inline void put(std::string& out, char value) {
  put(out, std::string(1, value));
}
template <class T>
std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>> put(std::string& out, T value) {
  const bool negative = value < 0;
  unsigned long long rest = negative ? 0ULL - static_cast<unsigned long long>(value) : static_cast<unsigned long long>(value);
  std::string digits;
  int count = 0;
  for (; rest; rest >>= 15, ++count) {
    digits += static_cast<char>(rest & 0xff);
    digits += static_cast<char>((rest >> 8) & 0x7f);
  }
  out += 'l';
  put32(out, static_cast<std::uint32_t>(negative ? -count : count));
  out += digits;
}
template <class A, class B>
void put(std::string& out, const std::pair<A, B>& value);
template <class... T>
void put(std::string& out, const std::tuple<T...>& value);
template <class K, class V>
void put(std::string& out, const std::map<K, V>& value);
template <class K, class V>
void put(std::string& out, const std::unordered_map<K, V>& value);
template <class T>
void put(std::string& out, const std::vector<T>& value) {
  out += '[';
  put32(out, static_cast<std::uint32_t>(value.size()));
  for (const auto& item : value) put(out, static_cast<const T&>(item));
}
template <class A, class B>
void put(std::string& out, const std::pair<A, B>& value) {
  out += '[';
  put32(out, 2);
  put(out, value.first);
  put(out, value.second);
}
template <class... T>
void put(std::string& out, const std::tuple<T...>& value) {
  out += '[';
  put32(out, sizeof...(T));
  std::apply([&](const auto&... item) { (put(out, item), ...); }, value);
}
template <class Map>
void put_map(std::string& out, const Map& value) {
  out += '{';
  for (const auto& item : value) {
    put(out, item.first);
    put(out, item.second);
  }
  out += '0';
}
template <class K, class V>
void put(std::string& out, const std::map<K, V>& value) {
  put_map(out, value);
}
template <class K, class V>
void put(std::string& out, const std::unordered_map<K, V>& value) {
  put_map(out, value);
}

// ---- values in ----

struct Reader {
  const char* at;
  const char* end;

  void need(std::size_t size) const {
    if (static_cast<std::size_t>(end - at) < size) throw Misfit();
  }
  char tag() {
    need(1);
    return *at++;
  }
  std::uint32_t number32() {
    need(4);
    at += 4;
    return number(at - 4);
  }
  /// Any integer of 64 bits and a sign.
  std::pair<bool, unsigned long long> integer() {
    const char c = tag();
    if (c == 'i') {
      const auto n = static_cast<std::int32_t>(number32());
      return {n < 0, n < 0 ? 0ULL - static_cast<unsigned long long>(static_cast<long long>(n)) : static_cast<unsigned long long>(n)};
    }
    if (c != 'l') throw Misfit();
    const auto count = static_cast<std::int32_t>(number32());
    const std::uint32_t digits = count < 0 ? 0u - static_cast<std::uint32_t>(count) : static_cast<std::uint32_t>(count);
    need(2ull * digits);
    unsigned long long sum = 0;
    for (std::uint32_t i = digits; i-- > 0;) {
      if (sum >> 49) throw Misfit();
      sum = sum << 15 | static_cast<unsigned char>(at[2 * i]) | static_cast<unsigned long long>(static_cast<unsigned char>(at[2 * i + 1])) << 8;
    }
    at += 2ull * digits;
    return {count < 0, sum};
  }
};

template <class T, class = void>
struct Get;

template <>
struct Get<bool> {
  static bool from(Reader& in) {
    const char c = in.tag();
    if (c != 'T' && c != 'F') throw Misfit();
    return c == 'T';
  }
};
template <class T>
struct Get<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>>> {
  static T from(Reader& in) {
    const auto value = in.integer();
    const auto top = static_cast<unsigned long long>(std::numeric_limits<T>::max());
    if (value.first && (!std::is_signed_v<T> || value.second > top + 1)) throw Misfit();
    if (!value.first && value.second > top) throw Misfit();
    return static_cast<T>(value.first ? 0ULL - value.second : value.second);
  }
};
template <class T>
struct Get<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static T from(Reader& in) {
    in.need(1);
    if (*in.at != 'g') {
      const auto value = in.integer();
      const T size = static_cast<T>(value.second);
      return value.first ? -size : size;
    }
    in.need(9);
    double value;
    std::memcpy(&value, in.at + 1, 8);
    in.at += 9;
    return static_cast<T>(value);
  }
};
template <>
struct Get<std::string> {
  static std::string from(Reader& in) {
    if (in.tag() != 'u') throw Misfit();
    const std::uint32_t size = in.number32();
    in.need(size);
    in.at += size;
    return std::string(in.at - size, size);
  }
};
template <>
struct Get<char> {
  static char from(Reader& in) {
    const std::string text = Get<std::string>::from(in);
    if (text.size() != 1) throw Misfit();
    return text[0];
  }
};
inline std::uint32_t list_size(Reader& in) {
  if (in.tag() != '[') throw Misfit();
  return in.number32();
}
template <class T>
struct Get<std::vector<T>> {
  static std::vector<T> from(Reader& in) {
    const std::uint32_t count = list_size(in);
    in.need(count);
    std::vector<T> out;
    out.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(Get<T>::from(in));
    return out;
  }
};
template <class A, class B>
struct Get<std::pair<A, B>> {
  static std::pair<A, B> from(Reader& in) {
    if (list_size(in) != 2) throw Misfit();
    A first = Get<A>::from(in);
    return {std::move(first), Get<B>::from(in)};
  }
};
template <class... T>
struct Get<std::tuple<T...>> {
  static std::tuple<T...> from(Reader& in) {
    if (list_size(in) != sizeof...(T)) throw Misfit();
    return std::tuple<T...>{Get<T>::from(in)...};
  }
};
template <class K>
K get_key(Reader& in) {
  if constexpr (std::is_same_v<K, std::string>) return Get<std::string>::from(in);
  else {
    in.need(1);
    if (*in.at != 'u') return Get<K>::from(in);
    return static_cast<K>(std::stoll(Get<std::string>::from(in)));
  }
}
template <class Map>
Map get_map(Reader& in) {
  if (in.tag() != '{') throw Misfit();
  Map out;
  while (true) {
    in.need(1);
    if (*in.at == '0') {
      ++in.at;
      return out;
    }
    auto key = get_key<typename Map::key_type>(in);
    out.emplace(std::move(key), Get<typename Map::mapped_type>::from(in));
  }
}
template <class K, class V>
struct Get<std::map<K, V>> {
  static std::map<K, V> from(Reader& in) { return get_map<std::map<K, V>>(in); }
};
template <class K, class V>
struct Get<std::unordered_map<K, V>> {
  static std::unordered_map<K, V> from(Reader& in) { return get_map<std::unordered_map<K, V>>(in); }
};

// ---- answering calls ----

inline const char* name_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "std::bad_alloc";
  if (dynamic_cast<const std::out_of_range*>(&error)) return "std::out_of_range";
  if (dynamic_cast<const std::invalid_argument*>(&error)) return "std::invalid_argument";
  if (dynamic_cast<const std::length_error*>(&error)) return "std::length_error";
  if (dynamic_cast<const std::domain_error*>(&error)) return "std::domain_error";
  if (dynamic_cast<const std::logic_error*>(&error)) return "std::logic_error";
  if (dynamic_cast<const std::overflow_error*>(&error)) return "std::overflow_error";
  if (dynamic_cast<const std::runtime_error*>(&error)) return "std::runtime_error";
  return "std::exception";
}

template <class... A, class Function>
void serve_calls(const Function& function) {
  send({"ready"});
  std::vector<std::string> message;
  while (receive(message)) {
    try {
      Reader in{message[0].data(), message[0].data() + message[0].size()};
      if (list_size(in) != sizeof...(A)) throw Misfit();
      std::tuple<std::decay_t<A>...> arguments{Get<std::decay_t<A>>::from(in)...};
      std::string out;
      if constexpr (std::is_void_v<decltype(std::apply(function, arguments))>) {
        std::apply(function, arguments);
        put(out, nullptr);
      } else {
        put(out, std::apply(function, arguments));
      }
      send({"value", out});
    } catch (const std::exception& error) {
      send({"raise", name_of(error), "0", error.what()});
    } catch (...) {
      send({"raise", "std::exception", "0", "an exception of another type"});
    }
  }
  std::exit(0);
}

template <class R, class... A>
void serve(R (*function)(A...)) {
  serve_calls<A...>([function](auto&... a) -> R { return function(static_cast<A>(a)...); });
}
template <class S, class R, class... A>
void serve(R (S::*method)(A...)) {
  serve_calls<A...>([method](auto&... a) -> R { return (S().*method)(static_cast<A>(a)...); });
}
template <class S, class R, class... A>
void serve(R (S::*method)(A...) const) {
  serve_calls<A...>([method](auto&... a) -> R { return (S().*method)(static_cast<A>(a)...); });
}

// ---- calling ----

inline bool& raised() {
  static bool it = false;
  return it;
}

template <class R, class... A>
R remote(const A&... a) {
  std::string arguments = "[";
  put32(arguments, sizeof...(A));
  (put(arguments, a), ...);
  send({"call", arguments, "{0"});
  std::vector<std::string> reply;
  if (!receive(reply)) leave(0);
  if (reply[0] == "raise") {
    const std::string& name = reply[1];
    const std::string what = reply.size() > 2 ? reply[2] : "";
    raised() = true;
    if (name == "std::out_of_range") throw std::out_of_range(what);
    if (name == "std::invalid_argument") throw std::invalid_argument(what);
    if (name == "std::length_error") throw std::length_error(what);
    if (name == "std::domain_error") throw std::domain_error(what);
    if (name == "std::logic_error") throw std::logic_error(what);
    if (name == "std::overflow_error") throw std::overflow_error(what);
    if (name == "std::bad_alloc") throw std::bad_alloc();
    throw std::runtime_error(what);
  }
  raised() = false;
  try {
    if (reply[0] != "value") throw Misfit();
    Reader in{reply[1].data(), reply[1].data() + reply[1].size()};
    if constexpr (std::is_void_v<R>) return;
    else return Get<R>::from(in);
  } catch (const Misfit&) {
    send({"failed", "AssertionError", "0", "0"});
    leave(0);
  }
}

}  // namespace leap_driver

#if defined(LEAP_TOGETHER)
// The key to the completion record is on this stack alone.
int main() {
  const std::string key = leap_driver::first_frame();
  leap_driver_run();
  leap_driver::send_as(key, {"done"});
  leap_driver::leave(0);
}
#elif defined(LEAP_OWN_MAIN)
namespace leap_driver {
inline void at_exit(int status, void*) {
  if (status == 0) send({"done"});
}
struct Begin {
  Begin() {
    nonce() = first_frame();
    ::on_exit(at_exit, nullptr);
  }
};
static Begin begin;
}  // namespace leap_driver
#else
int main() {
  leap_driver::nonce() = leap_driver::first_frame();
  try {
    leap_driver_run();
  } catch (const std::exception&) {
    leap_driver::send({"failed", "std::exception", "0", leap_driver::raised() ? "1" : "0"});
    leap_driver::leave(0);
  }
  leap_driver::send({"done"});
  leap_driver::leave(0);
}
#endif
