// Work of libraries on device memory, as a kernel of one thread: it counts as a launch and sees what a kernel
// sees.
#pragma once

#include "leap_cuda.h"

namespace leap_cuda {

template <class F>
inline void on_device(const char* name, const F& work, cudaStream_t stream = nullptr,
                      int line = __builtin_LINE()) {
  if (in_kernel()) {
    F mine(work);
    mine();
    return;
  }
  push_configuration(1, 1, 0, stream, line);
  launch(name, line, Bounds(), work);
}

/// Device memory for as long as a library needs it.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t count) {
    if (count) cudaMalloc(reinterpret_cast<void**>(&at_), count * sizeof(T));
  }
  ~Scratch() { cudaFree(at_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return at_; }

 private:
  T* at_ = nullptr;
};

/// A stable sort of `order` (indices) that uses `spare`, of the same length.
template <class Index, class Less>
inline void sort_indices(Index* order, Index* spare, std::size_t count, Less less) {
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t from = 0; from < count; from += 2 * width) {
      const std::size_t middle = from + width < count ? from + width : count;
      const std::size_t to = from + 2 * width < count ? from + 2 * width : count;
      std::size_t a = from, b = middle;
      for (std::size_t k = from; k < to; ++k) {
        const bool right = a == middle || (b < to && less(order[b], order[a]));
        spare[k] = right ? order[b++] : order[a++];
      }
    }
    for (std::size_t k = 0; k < count; ++k) order[k] = spare[k];
  }
}

/// The bits of a key by which radix sort orders it.
template <class T>
inline std::uint64_t radix_bits(const T& key) {
  const std::uint64_t bits = to_bits(key);
  constexpr std::uint64_t sign = std::uint64_t{1} << (sizeof(T) * 8 - 1);
  constexpr std::uint64_t all = sign | (sign - 1);
  if constexpr (std::is_floating_point<T>::value || std::is_class<T>::value)
    return bits & sign ? ~bits & all : bits | sign;
  else if constexpr (std::is_signed<T>::value)
    return (bits ^ sign) & all;
  else
    return bits & all;
}

inline std::uint64_t bit_range(int begin, int end) {
  const std::uint64_t up_to = end >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return up_to & ~((std::uint64_t{1} << begin) - 1);
}

}  // namespace leap_cuda
