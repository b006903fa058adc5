// thrust: vectors, iterators and the common algorithms, run as kernels of one thread.
#pragma once

#include <iterator>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#include "leap_cuda/on_device.h"

#define THRUST_VERSION 200400

namespace thrust {

// --- policies
// -----------------------------------------------------------------------------------------------------------
struct host_policy {};
struct device_policy {
  cudaStream_t stream = nullptr;
};
namespace details {
struct par_t : device_policy {
  device_policy on(cudaStream_t stream) const { return {stream}; }
  template <class A>
  par_t operator()(const A&) const {
    return *this;
  }
};
struct seq_t {};
}  // namespace details
static const device_policy device{};
static const host_policy host{};
static const details::seq_t seq{};
namespace cuda {
static const details::par_t par{};
static const details::par_t par_nosync{};
}  // namespace cuda
namespace system {
namespace cuda {
using thrust::cuda::par;
}
}  // namespace system

// --- pointers and references to device memory
// ----------------------------------------------------------------------------
template <class T>
class device_ptr;

template <class T>
class device_reference {
 public:
  explicit device_reference(T* at) : at_(at) {}
  device_reference(const device_reference&) = default;
  operator std::remove_const_t<T>() const {
    std::remove_const_t<T> value;
    if (leap_cuda::in_kernel()) return *at_;
    cudaMemcpy(static_cast<void*>(&value), at_, sizeof(T), cudaMemcpyDefault);
    return value;
  }
  device_reference& operator=(const T& value) {
    if (leap_cuda::in_kernel())
      *at_ = value;
    else
      cudaMemcpy(at_, static_cast<const void*>(&value), sizeof(T), cudaMemcpyDefault);
    return *this;
  }
  device_reference& operator=(const device_reference& other) { return *this = static_cast<T>(other); }
  device_reference& operator+=(const T& v) { return *this = static_cast<T>(*this) + v; }
  device_ptr<T> operator&() const;

 private:
  T* at_;
};

template <class T>
class device_ptr {
 public:
  using value_type = std::remove_const_t<T>;
  using reference = device_reference<T>;
  using pointer = device_ptr;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  device_ptr() = default;
  device_ptr(std::nullptr_t) {}
  explicit device_ptr(T* at) : at_(at) {}
  template <class U, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
  device_ptr(const device_ptr<U>& other) : at_(other.get()) {}
  T* get() const { return at_; }
  reference operator*() const { return reference(at_); }
  reference operator[](std::ptrdiff_t i) const { return reference(at_ + i); }
  device_ptr operator+(std::ptrdiff_t i) const { return device_ptr(at_ + i); }
  device_ptr operator-(std::ptrdiff_t i) const { return device_ptr(at_ - i); }
  std::ptrdiff_t operator-(const device_ptr& other) const { return at_ - other.at_; }
  device_ptr& operator+=(std::ptrdiff_t i) {
    at_ += i;
    return *this;
  }
  device_ptr& operator-=(std::ptrdiff_t i) {
    at_ -= i;
    return *this;
  }
  device_ptr& operator++() {
    ++at_;
    return *this;
  }
  device_ptr& operator--() {
    --at_;
    return *this;
  }
  device_ptr operator++(int) { return device_ptr(at_++); }
  bool operator==(const device_ptr& o) const { return at_ == o.at_; }
  bool operator!=(const device_ptr& o) const { return at_ != o.at_; }
  bool operator<(const device_ptr& o) const { return at_ < o.at_; }

 private:
  T* at_ = nullptr;
};
template <class T>
device_ptr<T> device_reference<T>::operator&() const {
  return device_ptr<T>(at_);
}
template <class T>
inline device_ptr<T> device_pointer_cast(T* at) {
  return device_ptr<T>(at);
}
template <class T>
inline T* raw_pointer_cast(const device_ptr<T>& at) {
  return at.get();
}
template <class T>
inline T* raw_pointer_cast(T* at) {
  return at;
}
template <class T>
inline device_ptr<T> device_malloc(std::size_t n) {
  T* at = nullptr;
  cudaMalloc(&at, n * sizeof(T));
  return device_ptr<T>(at);
}
template <class T>
inline void device_free(device_ptr<T> at) {
  cudaFree(at.get());
}

// --- vectors
// ---------------------------------------------------------------------------------------------------------------
template <class T>
using host_vector = std::vector<T>;

template <class T, class = void>
class device_vector {
 public:
  using value_type = T;
  using iterator = device_ptr<T>;
  using const_iterator = device_ptr<const T>;
  using reference = device_reference<T>;
  using size_type = std::size_t;
  device_vector() = default;
  explicit device_vector(std::size_t n) { resize(n); }
  device_vector(std::size_t n, const T& value) { resize(n, value); }
  device_vector(const device_vector& other) { copy_from(other.at_, other.size_); }
  device_vector(device_vector&& other) noexcept { swap(other); }
  template <class A>
  device_vector(const std::vector<T, A>& other) {
    copy_from(other.data(), other.size());
  }
  device_vector(std::initializer_list<T> list) { copy_from(list.begin(), list.size()); }
  device_vector(device_ptr<T> begin, device_ptr<T> end) {
    copy_from(begin.get(), static_cast<std::size_t>(end - begin));
  }
  device_vector(device_ptr<const T> begin, device_ptr<const T> end) {
    copy_from(begin.get(), static_cast<std::size_t>(end - begin));
  }
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  device_vector(It begin, It end) {
    const std::vector<T> values(begin, end);
    copy_from(values.data(), values.size());
  }
  ~device_vector() { cudaFree(at_); }
  device_vector& operator=(const device_vector& other) {
    if (this != &other) copy_from(other.at_, other.size_);
    return *this;
  }
  device_vector& operator=(device_vector&& other) noexcept {
    swap(other);
    return *this;
  }
  template <class A>
  device_vector& operator=(const std::vector<T, A>& other) {
    copy_from(other.data(), other.size());
    return *this;
  }
  template <class A>
  operator std::vector<T, A>() const {
    std::vector<T, A> out(size_);
    cudaMemcpy(out.data(), at_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
    return out;
  }
  void swap(device_vector& other) {
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t capacity() const { return room_; }
  iterator begin() { return iterator(at_); }
  iterator end() { return iterator(at_ + size_); }
  const_iterator begin() const { return const_iterator(at_); }
  const_iterator end() const { return const_iterator(at_ + size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  iterator data() { return iterator(at_); }
  const_iterator data() const { return const_iterator(at_); }
  reference operator[](std::size_t i) { return reference(at_ + i); }
  device_reference<const T> operator[](std::size_t i) const { return device_reference<const T>(at_ + i); }
  reference front() { return (*this)[0]; }
  reference back() { return (*this)[size_ - 1]; }
  void reserve(std::size_t n) {
    if (n <= room_) return;
    T* more = nullptr;
    cudaMalloc(&more, n * sizeof(T));
    cudaMemcpy(more, at_, size_ * sizeof(T), cudaMemcpyDeviceToDevice);
    cudaFree(at_);
    at_ = more;
    room_ = n;
  }
  void resize(std::size_t n, const T& value = T()) {
    reserve(n);
    T* at = at_;
    const std::size_t from = size_;
    if (n > from)
      leap_cuda::on_device("thrust::fill", [=] {
        for (std::size_t i = from; i < n; ++i) at[i] = value;
      });
    size_ = n;
  }
  void assign(std::size_t n, const T& value) {
    size_ = 0;
    resize(n, value);
  }
  void push_back(const T& value) {
    if (size_ == room_) reserve(room_ ? 2 * room_ : 8);
    ++size_;
    (*this)[size_ - 1] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void shrink_to_fit() {}
  void erase(iterator from, iterator to) {
    const std::size_t a = static_cast<std::size_t>(from - begin()),
                      b = static_cast<std::size_t>(to - begin());
    T* at = at_;
    const std::size_t n = size_;
    leap_cuda::on_device("thrust::erase", [=] {
      for (std::size_t i = b; i < n; ++i) at[a + i - b] = at[i];
    });
    size_ -= b - a;
  }

 private:
  void copy_from(const T* from, std::size_t n) {
    size_ = 0;
    reserve(n);
    cudaMemcpy(at_, from, n * sizeof(T), cudaMemcpyDefault);
    size_ = n;
  }
  T* at_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

// --- tuples, pairs, operators
// --------------------------------------------------------------------------------------------
using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
template <std::size_t I, class T>
using tuple_element = std::tuple_element<I, T>;

#define LEAP_OPERATOR(NAME, RESULT, EXPRESSION)                            \
  template <class T = void>                                                \
  struct NAME {                                                            \
    using result_type = RESULT;                                            \
    RESULT operator()(const T& a, const T& b) const { return EXPRESSION; } \
  };                                                                       \
  template <>                                                              \
  struct NAME<void> {                                                      \
    template <class T, class U>                                            \
    auto operator()(const T& a, const U& b) const {                        \
      return EXPRESSION;                                                   \
    }                                                                      \
  };
LEAP_OPERATOR(plus, T, a + b)
LEAP_OPERATOR(minus, T, a - b)
LEAP_OPERATOR(multiplies, T, a* b)
LEAP_OPERATOR(divides, T, a / b)
LEAP_OPERATOR(modulus, T, a % b)
LEAP_OPERATOR(maximum, T, a < b ? b : a)
LEAP_OPERATOR(minimum, T, b < a ? b : a)
LEAP_OPERATOR(equal_to, bool, a == b)
LEAP_OPERATOR(not_equal_to, bool, a != b)
LEAP_OPERATOR(less, bool, a < b)
LEAP_OPERATOR(less_equal, bool, a <= b)
LEAP_OPERATOR(greater, bool, a > b)
LEAP_OPERATOR(greater_equal, bool, a >= b)
LEAP_OPERATOR(logical_and, bool, a&& b)
LEAP_OPERATOR(logical_or, bool, a || b)
LEAP_OPERATOR(bit_and, T, a& b)
LEAP_OPERATOR(bit_or, T, a | b)
LEAP_OPERATOR(bit_xor, T, a ^ b)
#undef LEAP_OPERATOR
template <class T = void>
struct negate {
  T operator()(const T& a) const { return -a; }
};
template <class T = void>
struct square {
  T operator()(const T& a) const { return a * a; }
};
template <class T = void>
struct identity {
  const T& operator()(const T& a) const { return a; }
};
template <class T = void>
struct logical_not {
  bool operator()(const T& a) const { return !a; }
};
template <class A = void, class B = void>
struct unary_function {
  using argument_type = A;
  using result_type = B;
};
template <class A, class B, class R>
struct binary_function {
  using first_argument_type = A;
  using second_argument_type = B;
  using result_type = R;
};
namespace placeholders {}

// --- iterators
// ------------------------------------------------------------------------------------------------------------
namespace details {
/// An iterator whose elements are worked out: what `at(i)` gives.
template <class Self, class Value, class Reference = Value>
struct worked_out {
  using value_type = Value;
  using reference = Reference;
  using pointer = void;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  std::ptrdiff_t place = 0;
  const Self& self() const { return static_cast<const Self&>(*this); }
  Self& self() { return static_cast<Self&>(*this); }
  Reference operator*() const { return self().at(place); }
  Reference operator[](std::ptrdiff_t i) const { return self().at(place + i); }
  Self operator+(std::ptrdiff_t i) const {
    Self other = self();
    other.place += i;
    return other;
  }
  Self operator-(std::ptrdiff_t i) const { return *this + -i; }
  std::ptrdiff_t operator-(const worked_out& other) const {
    return place - other.place + self().apart(other.self());
  }
  Self& operator++() {
    ++place;
    return self();
  }
  Self& operator--() {
    --place;
    return self();
  }
  Self operator++(int) {
    Self old = self();
    ++place;
    return old;
  }
  Self& operator+=(std::ptrdiff_t i) {
    place += i;
    return self();
  }
  bool operator==(const worked_out& o) const { return *this - o == 0; }
  bool operator!=(const worked_out& o) const { return *this - o != 0; }
  bool operator<(const worked_out& o) const { return *this - o < 0; }
};

/// How a kernel reads through an iterator: device pointers as plain ones.
template <class It>
inline It plain(It it) {
  return it;
}
template <class T>
inline T* plain(device_ptr<T> it) {
  return it.get();
}
template <class It>
using plain_t = decltype(plain(std::declval<It>()));
template <class It>
using value_t = std::decay_t<decltype(*plain(std::declval<It>()))>;
}  // namespace details

template <class T>
struct counting_iterator : details::worked_out<counting_iterator<T>, T> {
  T from{};
  counting_iterator() = default;
  explicit counting_iterator(T v) : from(v) {}
  T at(std::ptrdiff_t i) const { return from + static_cast<T>(i); }
  std::ptrdiff_t apart(const counting_iterator& o) const {
    return static_cast<std::ptrdiff_t>(from) - static_cast<std::ptrdiff_t>(o.from);
  }
};
template <class T>
inline counting_iterator<T> make_counting_iterator(T v) {
  return counting_iterator<T>(v);
}
template <class T>
struct constant_iterator : details::worked_out<constant_iterator<T>, T> {
  T value;
  explicit constant_iterator(T v) : value(v) {}
  T at(std::ptrdiff_t) const { return value; }
  std::ptrdiff_t apart(const constant_iterator&) const { return 0; }
};
template <class T>
inline constant_iterator<T> make_constant_iterator(T v) {
  return constant_iterator<T>(v);
}
template <class F, class It, class R = void>
struct transform_iterator
    : details::worked_out<transform_iterator<F, It, R>,
                          std::decay_t<decltype(std::declval<F>()(*details::plain(std::declval<It>())))>> {
  details::plain_t<It> from;
  F f;
  transform_iterator(It it, F op) : from(details::plain(it)), f(op) {}
  auto at(std::ptrdiff_t i) const { return f(from[i]); }
  std::ptrdiff_t apart(const transform_iterator& o) const { return from - o.from; }
};
template <class F, class It>
inline transform_iterator<F, It> make_transform_iterator(It it, F f) {
  return transform_iterator<F, It>(it, f);
}
template <class It, class Map>
struct permutation_iterator : details::worked_out<permutation_iterator<It, Map>, details::value_t<It>,
                                                  decltype(*details::plain(std::declval<It>()))> {
  details::plain_t<It> from;
  details::plain_t<Map> map;
  permutation_iterator(It it, Map m) : from(details::plain(it)), map(details::plain(m)) {}
  decltype(auto) at(std::ptrdiff_t i) const { return from[map[i]]; }
  std::ptrdiff_t apart(const permutation_iterator& o) const { return map - o.map; }
};
template <class It, class Map>
inline permutation_iterator<It, Map> make_permutation_iterator(It it, Map map) {
  return permutation_iterator<It, Map>(it, map);
}
template <class It>
struct reverse_iterator_of : details::worked_out<reverse_iterator_of<It>, details::value_t<It>,
                                                 decltype(*details::plain(std::declval<It>()))> {
  details::plain_t<It> from;
  explicit reverse_iterator_of(It it) : from(details::plain(it)) {}
  decltype(auto) at(std::ptrdiff_t i) const { return from[-1 - i]; }
  std::ptrdiff_t apart(const reverse_iterator_of& o) const { return o.from - from; }
};
template <class It>
inline reverse_iterator_of<It> make_reverse_iterator(It it) {
  return reverse_iterator_of<It>(it);
}
template <class Tuple>
struct zip_iterator;
template <class... Its>
struct zip_iterator<std::tuple<Its...>>
    : details::worked_out<zip_iterator<std::tuple<Its...>>, std::tuple<details::value_t<Its>...>,
                          std::tuple<decltype(*details::plain(std::declval<Its>()))...>> {
  std::tuple<details::plain_t<Its>...> from;
  explicit zip_iterator(const std::tuple<Its...>& its)
      : from(std::apply(
            [](const Its&... it) { return std::tuple<details::plain_t<Its>...>(details::plain(it)...); },
            its)) {}
  auto at(std::ptrdiff_t i) const {
    return std::apply(
        [i](const auto&... it) {
          return std::tuple<decltype(*details::plain(std::declval<Its>()))...>(it[i]...);
        },
        from);
  }
  std::ptrdiff_t apart(const zip_iterator& o) const { return std::get<0>(from) - std::get<0>(o.from); }
};
template <class... Its>
inline zip_iterator<std::tuple<Its...>> make_zip_iterator(const std::tuple<Its...>& its) {
  return zip_iterator<std::tuple<Its...>>(its);
}
template <class... Its>
inline zip_iterator<std::tuple<Its...>> make_zip_iterator(Its... its) {
  return zip_iterator<std::tuple<Its...>>(std::tuple<Its...>(its...));
}
struct discard_iterator_sink {
  template <class T>
  void operator=(const T&) const {}
};
struct discard_iterator : details::worked_out<discard_iterator, discard_iterator_sink> {
  discard_iterator_sink at(std::ptrdiff_t) const { return {}; }
  std::ptrdiff_t apart(const discard_iterator&) const { return 0; }
};
inline discard_iterator make_discard_iterator() {
  return {};
}
template <class It, class D>
inline void advance(It& it, D n) {
  it += n;
}
template <class It>
inline std::ptrdiff_t distance(It a, It b) {
  return b - a;
}

// --- algorithms
// -----------------------------------------------------------------------------------------------------------
namespace details {

template <class T>
struct is_policy : std::false_type {};
template <>
struct is_policy<device_policy> : std::true_type {};
template <>
struct is_policy<host_policy> : std::true_type {};
template <>
struct is_policy<par_t> : std::true_type {};
template <>
struct is_policy<seq_t> : std::true_type {};
template <class T>
using Policy = std::enable_if_t<is_policy<std::decay_t<T>>::value>;

inline cudaStream_t stream_of(const device_policy& p) {
  return p.stream;
}
inline cudaStream_t stream_of(const host_policy&) {
  return nullptr;
}
inline cudaStream_t stream_of(const seq_t&) {
  return nullptr;
}

/// Iterators of the host are worked on by the host.
template <class It>
struct on_host : std::false_type {};
template <class T, class C>
struct on_host<__gnu_cxx::__normal_iterator<T, C>> : std::true_type {};

template <class P, class F>
inline void run(const P& policy, const char* name, const F& work) {
  if constexpr (std::is_same<P, host_policy>::value || std::is_same<P, seq_t>::value) {
    F mine(work);
    mine();
  } else {
    leap_cuda::on_device(name, work, stream_of(policy));
  }
}
/// Without a policy the iterator says where.
template <class It, class F>
inline void run_for(const char* name, const F& work) {
  if constexpr (on_host<It>::value) {
    F mine(work);
    mine();
  } else {
    leap_cuda::on_device(name, work);
  }
}

/// A value that a kernel brings back.
template <class T>
class Answer {
 public:
  Answer() {
    if (!leap_cuda::in_kernel()) cudaMalloc(reinterpret_cast<void**>(&at_), sizeof(T));
  }
  ~Answer() {
    if (at_) cudaFree(at_);
  }
  T* at() { return at_ ? at_ : reinterpret_cast<T*>(here_); }
  T get() {
    if (!at_) return *at();
    alignas(T) unsigned char bytes[sizeof(T)];
    cudaMemcpy(bytes, at_, sizeof(T), cudaMemcpyDeviceToHost);
    return *reinterpret_cast<T*>(bytes);
  }

 private:
  T* at_ = nullptr;
  alignas(T) unsigned char here_[sizeof(T)] = {};
};

template <class P, class It, class T>
struct Where {
  static constexpr bool host = std::is_same<std::decay_t<P>, host_policy>::value ||
                               std::is_same<std::decay_t<P>, seq_t>::value || on_host<It>::value;
};
struct none {};
template <class P, class It, class F>
inline void go(const P& policy, const char* name, const F& work) {
  if constexpr (std::is_same<P, none>::value)
    run_for<It>(name, work);
  else
    run(policy, name, work);
}
template <class T>
struct Equals {
  T value;
  template <class U>
  bool operator()(const U& x) const {
    return x == value;
  }
};
template <class F>
struct Swapped {
  F f;
  template <class T, class U>
  bool operator()(const T& x, const U& y) const {
    return f(y, x);
  }
};
template <class T, class P, class It, class F>
inline T ask(const P& policy, const char* name, const F& work) {
  if constexpr (Where<P, It, T>::host) {
    T out{};
    work(&out);
    return out;
  } else {
    Answer<T> answer;
    T* at = answer.at();
    go<P, It>(policy, name, [=] {
      F mine(work);
      mine(at);
    });
    return answer.get();
  }
}

template <class P, class A, class B, class F>
B transform(const P& p, A a, A end, B out, F f) {
  auto from = plain(a);
  auto to = plain(out);
  const std::ptrdiff_t n = plain(end) - from;
  go<P, A>(p, "thrust::transform", [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = f(from[i]);
  });
  return out + n;
}
template <class P, class A, class B, class C, class F>
C transform2(const P& p, A a, A end, B b, C out, F f) {
  auto from = plain(a);
  auto other = plain(b);
  auto to = plain(out);
  const std::ptrdiff_t n = plain(end) - from;
  go<P, A>(p, "thrust::transform", [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = f(from[i], other[i]);
  });
  return out + n;
}
template <class P, class A, class F>
A for_each_n(const P& p, A a, std::ptrdiff_t n, F f) {
  auto from = plain(a);
  go<P, A>(p, "thrust::for_each", [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) f(from[i]);
  });
  return a + n;
}
template <class P, class A, class T, class F>
T reduce(const P& p, A a, A end, T init, F f) {
  auto from = plain(a);
  const std::ptrdiff_t n = plain(end) - from;
  return ask<T, P, A>(p, "thrust::reduce", [=](T* out) {
    T all = init;
    for (std::ptrdiff_t i = 0; i < n; ++i) all = f(all, from[i]);
    *out = all;
  });
}
template <class P, class A, class B, class T, class F, class G>
T inner_product(const P& p, A a, A end, B b, T init, F f, G g) {
  auto from = plain(a);
  auto other = plain(b);
  const std::ptrdiff_t n = plain(end) - from;
  return ask<T, P, A>(p, "thrust::inner_product", [=](T* out) {
    T all = init;
    for (std::ptrdiff_t i = 0; i < n; ++i) all = f(all, g(from[i], other[i]));
    *out = all;
  });
}
template <class P, class A, class B, class F>
B inclusive_scan(const P& p, A a, A end, B out, F f) {
  auto from = plain(a);
  auto to = plain(out);
  const std::ptrdiff_t n = plain(end) - from;
  go<P, A>(p, "thrust::inclusive_scan", [=]() mutable {
    if (n == 0) return;
    value_t<A> all = from[0];
    to[0] = all;
    for (std::ptrdiff_t i = 1; i < n; ++i) to[i] = all = f(all, from[i]);
  });
  return out + n;
}
template <class P, class A, class B, class T, class F>
B exclusive_scan(const P& p, A a, A end, B out, T init, F f) {
  auto from = plain(a);
  auto to = plain(out);
  const std::ptrdiff_t n = plain(end) - from;
  go<P, A>(p, "thrust::exclusive_scan", [=]() mutable {
    T all = init;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const value_t<A> here = from[i];
      to[i] = all;
      all = f(all, here);
    }
  });
  return out + n;
}
template <class P, class A, class B>
B copy(const P& p, A a, A end, B out) {
  auto from = plain(a);
  auto to = plain(out);
  const std::ptrdiff_t n = plain(end) - from;
  using From = value_t<A>;
  using To = value_t<B>;
  if constexpr (std::is_same<From, To>::value && std::is_trivially_copyable<From>::value) {
    // Between the sides by a copy.
    if constexpr ((std::is_pointer<decltype(from)>::value || on_host<A>::value) &&
                  (std::is_pointer<decltype(to)>::value || on_host<B>::value)) {
      if (!leap_cuda::in_kernel()) {
        if (n > 0)
          cudaMemcpy(static_cast<void*>(&*to), &*from, static_cast<std::size_t>(n) * sizeof(From),
                     cudaMemcpyDefault);
        return out + n;
      }
    }
  }
  go<P, A>(p, "thrust::copy", [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i];
  });
  return out + n;
}
template <class P, class A, class S, class B, class F>
B copy_if(const P& p, A a, A end, S stencil, B out, F f) {
  auto from = plain(a);
  auto flags = plain(stencil);
  auto to = plain(out);
  const std::ptrdiff_t n = plain(end) - from;
  const std::ptrdiff_t kept =
      ask<std::ptrdiff_t, P, A>(p, "thrust::copy_if", [=](std::ptrdiff_t* count) mutable {
        std::ptrdiff_t k = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i)
          if (f(flags[i])) to[k++] = from[i];
        *count = k;
      });
  return out + kept;
}
template <class P, class A, class S, class F>
A remove_if(const P& p, A a, A end, S stencil, F f) {
  auto from = plain(a);
  auto flags = plain(stencil);
  const std::ptrdiff_t n = plain(end) - from;
  const std::ptrdiff_t kept =
      ask<std::ptrdiff_t, P, A>(p, "thrust::remove_if", [=](std::ptrdiff_t* count) mutable {
        std::ptrdiff_t k = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i)
          if (!f(flags[i])) from[k++] = from[i];
        *count = k;
      });
  return a + kept;
}
template <class P, class A, class F>
A unique(const P& p, A a, A end, F f) {
  auto from = plain(a);
  const std::ptrdiff_t n = plain(end) - from;
  const std::ptrdiff_t kept =
      ask<std::ptrdiff_t, P, A>(p, "thrust::unique", [=](std::ptrdiff_t* count) mutable {
        std::ptrdiff_t k = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i)
          if (k == 0 || !f(from[k - 1], from[i])) from[k++] = from[i];
        *count = k;
      });
  return a + kept;
}
template <class P, class A, class F>
std::ptrdiff_t count_if(const P& p, A a, A end, F f) {
  auto from = plain(a);
  const std::ptrdiff_t n = plain(end) - from;
  return ask<std::ptrdiff_t, P, A>(p, "thrust::count_if", [=](std::ptrdiff_t* count) mutable {
    std::ptrdiff_t k = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) k += f(from[i]) ? 1 : 0;
    *count = k;
  });
}
/// The place of the best, by better(a, b): a goes before b.
template <class P, class A, class F>
A extreme(const P& p, A a, A end, F better) {
  auto from = plain(a);
  const std::ptrdiff_t n = plain(end) - from;
  return a + ask<std::ptrdiff_t, P, A>(p, "thrust::extreme", [=](std::ptrdiff_t* place) mutable {
           std::ptrdiff_t best = 0;
           for (std::ptrdiff_t i = 1; i < n; ++i)
             if (better(from[i], from[best])) best = i;
           *place = best;
         });
}
template <class P, class A, class F>
A find_if(const P& p, A a, A end, F f) {
  auto from = plain(a);
  const std::ptrdiff_t n = plain(end) - from;
  return a + ask<std::ptrdiff_t, P, A>(p, "thrust::find_if", [=](std::ptrdiff_t* place) mutable {
           std::ptrdiff_t i = 0;
           while (i < n && !f(from[i])) ++i;
           *place = i;
         });
}
/// Stable, by indices; `values` goes along (the keys themselves: none).
template <class P, class A, class B, class F>
void sort_by_key(const P& p, A a, A end, B b, F f) {
  auto keys = plain(a);
  auto values = plain(b);
  const std::size_t n = static_cast<std::size_t>(plain(end) - keys);
  if (n == 0) return;
  using K = value_t<A>;
  using V = value_t<B>;
  if constexpr (Where<P, A, K>::host) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return f(keys[x], keys[y]); });
    std::vector<K> k(keys, keys + static_cast<std::ptrdiff_t>(n));
    std::vector<V> v(values, values + static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = k[order[i]];
      values[i] = v[order[i]];
    }
  } else {
    if (leap_cuda::in_kernel()) leap_cuda::uncovered("thrust::sort in device code");
    leap_cuda::Scratch<unsigned> order(2 * n);
    leap_cuda::Scratch<K> k(n);
    leap_cuda::Scratch<V> v(n);
    unsigned* o = order.get();
    K* ks = k.get();
    V* vs = v.get();
    go<P, A>(p, "thrust::sort", [=]() mutable {
      for (std::size_t i = 0; i < n; ++i) {
        o[i] = static_cast<unsigned>(i);
        ks[i] = keys[i];
        vs[i] = values[i];
      }
      leap_cuda::sort_indices(o, o + n, n, [&](unsigned x, unsigned y) { return f(ks[x], ks[y]); });
      for (std::size_t i = 0; i < n; ++i) {
        keys[i] = ks[o[i]];
        values[i] = vs[o[i]];
      }
    });
  }
}
template <class P, class A, class F>
void sort(const P& p, A a, A end, F f) {
  auto keys = plain(a);
  const std::size_t n = static_cast<std::size_t>(plain(end) - keys);
  if (n == 0) return;
  using K = value_t<A>;
  if constexpr (Where<P, A, K>::host) {
    std::stable_sort(keys, keys + static_cast<std::ptrdiff_t>(n), f);
  } else {
    if (leap_cuda::in_kernel()) leap_cuda::uncovered("thrust::sort in device code");
    leap_cuda::Scratch<unsigned> order(2 * n);
    leap_cuda::Scratch<K> k(n);
    unsigned* o = order.get();
    K* ks = k.get();
    go<P, A>(p, "thrust::sort", [=]() mutable {
      for (std::size_t i = 0; i < n; ++i) {
        o[i] = static_cast<unsigned>(i);
        ks[i] = keys[i];
      }
      leap_cuda::sort_indices(o, o + n, n, [&](unsigned x, unsigned y) { return f(ks[x], ks[y]); });
      for (std::size_t i = 0; i < n; ++i) keys[i] = ks[o[i]];
    });
  }
}
template <class P, class K, class V, class OK, class OV, class E, class F>
pair<OK, OV> reduce_by_key(const P& p, K keys_in, K end, V values_in, OK keys_out, OV values_out, E same,
                           F f) {
  auto keys = plain(keys_in);
  auto values = plain(values_in);
  auto ks = plain(keys_out);
  auto vs = plain(values_out);
  const std::ptrdiff_t n = plain(end) - keys;
  const std::ptrdiff_t runs =
      ask<std::ptrdiff_t, P, K>(p, "thrust::reduce_by_key", [=](std::ptrdiff_t* count) mutable {
        std::ptrdiff_t k = 0;
        for (std::ptrdiff_t i = 0; i < n;) {
          value_t<V> all = values[i];
          std::ptrdiff_t j = i + 1;
          for (; j < n && same(keys[j - 1], keys[j]); ++j) all = f(all, values[j]);
          ks[k] = keys[i];
          vs[k++] = all;
          i = j;
        }
        *count = k;
      });
  return {keys_out + runs, values_out + runs};
}
template <class P, class A, class B, class C, class F>
C bounds(const P& p, A a, A end, B wanted, B wanted_end, C out, F before, bool upper) {
  auto sorted = plain(a);
  auto what = plain(wanted);
  auto to = plain(out);
  const std::ptrdiff_t n = plain(end) - sorted, m = plain(wanted_end) - what;
  go<P, A>(p, "thrust::lower_bound", [=]() mutable {
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      std::ptrdiff_t low = 0, high = n;
      while (low < high) {
        const std::ptrdiff_t middle = (low + high) / 2;
        if (upper ? !before(what[i], sorted[middle]) : before(sorted[middle], what[i]))
          low = middle + 1;
        else
          high = middle;
      }
      to[i] = static_cast<value_t<C>>(low);
    }
  });
  return out + m;
}

}  // namespace details

// Each with and without a policy.
#define LEAP_UNPACK(...) __VA_ARGS__
#define LEAP_ALGORITHM(NAME, TEMPLATE, PARAMETERS, CALL, ...)                                           \
  template <class P, LEAP_UNPACK TEMPLATE, class = details::Policy<P>>                                  \
  auto NAME(const P& p, LEAP_UNPACK PARAMETERS) {                                                       \
    return CALL(p, __VA_ARGS__);                                                                        \
  }                                                                                                     \
  template <LEAP_UNPACK TEMPLATE>                                                                       \
  auto NAME(LEAP_UNPACK PARAMETERS)                                                                     \
      ->std::enable_if_t<!details::is_policy<A>::value, decltype(CALL(details::none(), __VA_ARGS__))> { \
    return CALL(details::none(), __VA_ARGS__);                                                          \
  }
LEAP_ALGORITHM(transform, (class A, class B, class F), (A a, A end, B out, F f), details::transform, a, end,
               out, f)
LEAP_ALGORITHM(transform, (class A, class B, class C, class F), (A a, A end, B b, C out, F f),
               details::transform2, a, end, b, out, f)
LEAP_ALGORITHM(for_each, (class A, class F), (A a, A end, F f), details::for_each_n, a,
               details::plain(end) - details::plain(a), f)
LEAP_ALGORITHM(for_each_n, (class A, class N, class F), (A a, N n, F f), details::for_each_n, a,
               static_cast<std::ptrdiff_t>(n), f)
LEAP_ALGORITHM(reduce, (class A), (A a, A end), details::reduce, a, end, details::value_t<A>(),
               plus<details::value_t<A>>())
LEAP_ALGORITHM(reduce, (class A, class T), (A a, A end, T init), details::reduce, a, end, init, plus<T>())
LEAP_ALGORITHM(reduce, (class A, class T, class F), (A a, A end, T init, F f), details::reduce, a, end, init,
               f)
LEAP_ALGORITHM(transform_reduce, (class A, class U, class T, class F), (A a, A end, U u, T init, F f),
               details::reduce, (transform_iterator<U, A>(a, u)),
               (transform_iterator<U, A>(a, u) + (details::plain(end) - details::plain(a))), init, f)
LEAP_ALGORITHM(inner_product, (class A, class B, class T), (A a, A end, B b, T init), details::inner_product,
               a, end, b, init, plus<T>(), multiplies<void>())
LEAP_ALGORITHM(inner_product, (class A, class B, class T, class F, class G),
               (A a, A end, B b, T init, F f, G g), details::inner_product, a, end, b, init, f, g)
LEAP_ALGORITHM(inclusive_scan, (class A, class B), (A a, A end, B out), details::inclusive_scan, a, end, out,
               plus<void>())
LEAP_ALGORITHM(inclusive_scan, (class A, class B, class F), (A a, A end, B out, F f), details::inclusive_scan,
               a, end, out, f)
LEAP_ALGORITHM(exclusive_scan, (class A, class B), (A a, A end, B out), details::exclusive_scan, a, end, out,
               details::value_t<A>(), plus<void>())
LEAP_ALGORITHM(exclusive_scan, (class A, class B, class T), (A a, A end, B out, T init),
               details::exclusive_scan, a, end, out, init, plus<void>())
LEAP_ALGORITHM(exclusive_scan, (class A, class B, class T, class F), (A a, A end, B out, T init, F f),
               details::exclusive_scan, a, end, out, init, f)
LEAP_ALGORITHM(transform_inclusive_scan, (class A, class B, class U, class F), (A a, A end, B out, U u, F f),
               details::inclusive_scan, (transform_iterator<U, A>(a, u)),
               (transform_iterator<U, A>(a, u) + (details::plain(end) - details::plain(a))), out, f)
LEAP_ALGORITHM(transform_exclusive_scan, (class A, class B, class U, class T, class F),
               (A a, A end, B out, U u, T init, F f), details::exclusive_scan,
               (transform_iterator<U, A>(a, u)),
               (transform_iterator<U, A>(a, u) + (details::plain(end) - details::plain(a))), out, init, f)
LEAP_ALGORITHM(copy, (class A, class B), (A a, A end, B out), details::copy, a, end, out)
LEAP_ALGORITHM(copy_n, (class A, class N, class B), (A a, N n, B out), details::copy, a, a + n, out)
LEAP_ALGORITHM(gather, (class A, class B, class C), (A a, A end, B b, C out), details::copy,
               (permutation_iterator<B, A>(b, a)),
               (permutation_iterator<B, A>(b, a) + (details::plain(end) - details::plain(a))), out)
LEAP_ALGORITHM(scatter, (class A, class B, class C), (A a, A end, B map, C out), details::copy, a, end,
               (permutation_iterator<C, B>(out, map)))
LEAP_ALGORITHM(copy_if, (class A, class B, class F), (A a, A end, B out, F f), details::copy_if, a, end, a,
               out, f)
LEAP_ALGORITHM(copy_if, (class A, class S, class B, class F), (A a, A end, S stencil, B out, F f),
               details::copy_if, a, end, stencil, out, f)
LEAP_ALGORITHM(remove_if, (class A, class F), (A a, A end, F f), details::remove_if, a, end, a, f)
LEAP_ALGORITHM(unique, (class A), (A a, A end), details::unique, a, end, equal_to<void>())
LEAP_ALGORITHM(unique, (class A, class F), (A a, A end, F f), details::unique, a, end, f)
LEAP_ALGORITHM(count_if, (class A, class F), (A a, A end, F f), details::count_if, a, end, f)
LEAP_ALGORITHM(count, (class A, class T), (A a, A end, T v), details::count_if, a, end, details::Equals<T>{v})
LEAP_ALGORITHM(max_element, (class A), (A a, A end), details::extreme, a, end, greater<void>())
LEAP_ALGORITHM(max_element, (class A, class F), (A a, A end, F f), details::extreme, a, end,
               details::Swapped<F>{f})
LEAP_ALGORITHM(min_element, (class A), (A a, A end), details::extreme, a, end, less<void>())
LEAP_ALGORITHM(min_element, (class A, class F), (A a, A end, F f), details::extreme, a, end, f)
LEAP_ALGORITHM(find_if, (class A, class F), (A a, A end, F f), details::find_if, a, end, f)
LEAP_ALGORITHM(find, (class A, class T), (A a, A end, T v), details::find_if, a, end, details::Equals<T>{v})
LEAP_ALGORITHM(sort, (class A), (A a, A end), details::sort, a, end, less<void>())
LEAP_ALGORITHM(sort, (class A, class F), (A a, A end, F f), details::sort, a, end, f)
LEAP_ALGORITHM(stable_sort, (class A), (A a, A end), details::sort, a, end, less<void>())
LEAP_ALGORITHM(stable_sort, (class A, class F), (A a, A end, F f), details::sort, a, end, f)
LEAP_ALGORITHM(sort_by_key, (class A, class B), (A a, A end, B b), details::sort_by_key, a, end, b,
               less<void>())
LEAP_ALGORITHM(sort_by_key, (class A, class B, class F), (A a, A end, B b, F f), details::sort_by_key, a, end,
               b, f)
LEAP_ALGORITHM(stable_sort_by_key, (class A, class B), (A a, A end, B b), details::sort_by_key, a, end, b,
               less<void>())
LEAP_ALGORITHM(stable_sort_by_key, (class A, class B, class F), (A a, A end, B b, F f), details::sort_by_key,
               a, end, b, f)
LEAP_ALGORITHM(reduce_by_key, (class A, class V, class K, class W), (A a, A end, V v, K k, W w),
               details::reduce_by_key, a, end, v, k, w, equal_to<void>(), plus<void>())
LEAP_ALGORITHM(reduce_by_key, (class A, class V, class K, class W, class E), (A a, A end, V v, K k, W w, E e),
               details::reduce_by_key, a, end, v, k, w, e, plus<void>())
LEAP_ALGORITHM(reduce_by_key, (class A, class V, class K, class W, class E, class F),
               (A a, A end, V v, K k, W w, E e, F f), details::reduce_by_key, a, end, v, k, w, e, f)
LEAP_ALGORITHM(lower_bound, (class A, class B, class C), (A a, A end, B b, B b_end, C out), details::bounds,
               a, end, b, b_end, out, less<void>(), false)
LEAP_ALGORITHM(upper_bound, (class A, class B, class C), (A a, A end, B b, B b_end, C out), details::bounds,
               a, end, b, b_end, out, less<void>(), true)
LEAP_ALGORITHM(fill, (class A, class T), (A a, A end, T v), details::copy, (constant_iterator<T>(v)),
               (constant_iterator<T>(v) + (details::plain(end) - details::plain(a))), a)
LEAP_ALGORITHM(fill_n, (class A, class N, class T), (A a, N n, T v), details::copy, (constant_iterator<T>(v)),
               (constant_iterator<T>(v) + n), a)
LEAP_ALGORITHM(sequence, (class A), (A a, A end), details::copy, (counting_iterator<details::value_t<A>>(0)),
               (counting_iterator<details::value_t<A>>(0) + (details::plain(end) - details::plain(a))), a)
LEAP_ALGORITHM(sequence, (class A, class T), (A a, A end, T v), details::copy, (counting_iterator<T>(v)),
               (counting_iterator<T>(v) + (details::plain(end) - details::plain(a))), a)
LEAP_ALGORITHM(
    tabulate, (class A, class F), (A a, A end, F f), details::copy,
    (transform_iterator<F, counting_iterator<std::ptrdiff_t>>(counting_iterator<std::ptrdiff_t>(0), f)),
    (transform_iterator<F, counting_iterator<std::ptrdiff_t>>(counting_iterator<std::ptrdiff_t>(0), f) +
     (details::plain(end) - details::plain(a))),
    a)
#undef LEAP_ALGORITHM
#undef LEAP_UNPACK
template <class A, class F>
inline bool all_of(A a, A end, F f) {
  return count_if(a, end, f) == end - a;
}
template <class A, class F>
inline bool any_of(A a, A end, F f) {
  return count_if(a, end, f) > 0;
}
template <class A, class F>
inline bool none_of(A a, A end, F f) {
  return count_if(a, end, f) == 0;
}
template <class A>
inline pair<A, A> minmax_element(A a, A end) {
  return {min_element(a, end), max_element(a, end)};
}

}  // namespace thrust
