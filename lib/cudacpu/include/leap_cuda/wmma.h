// nvcuda::wmma: matrix fragments spread over the lanes of a warp, element e of lane l being number l * count
// + e.
#pragma once

#include "leap_cuda.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision

namespace details {
template <class T>
struct Stored {
  using Type = T;
};
template <>
struct Stored<precision::tf32> {
  using Type = float;
};
template <class Use, int M, int N, int K>
struct Shape;
template <int M, int N, int K>
struct Shape<matrix_a, M, N, K> {
  static constexpr int rows = M, columns = K;
};
template <int M, int N, int K>
struct Shape<matrix_b, M, N, K> {
  static constexpr int rows = K, columns = N;
};
template <int M, int N, int K>
struct Shape<accumulator, M, N, K> {
  static constexpr int rows = M, columns = N;
};
}  // namespace details

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  using storage_element_type = typename details::Stored<T>::Type;
  using element_type = storage_element_type;
  static constexpr int rows = details::Shape<Use, M, N, K>::rows,
                       columns = details::Shape<Use, M, N, K>::columns;
  static constexpr int num_elements = rows * columns / 32;
  static constexpr int num_storage_elements = num_elements;
  storage_element_type x[num_elements];
};

template <class Use, int M, int N, int K, class T, class L, class V>
inline void fill_fragment(fragment<Use, M, N, K, T, L>& f, const V& value) {
  for (int e = 0; e < f.num_elements; ++e) f.x[e] = static_cast<typename details::Stored<T>::Type>(value);
}

namespace details {
template <class F>
inline int offset(int e, unsigned stride, bool by_rows) {
  const int at = static_cast<int>(leap_cuda::lane()) * F::num_elements + e;
  const int row = at / F::columns, column = at % F::columns;
  return by_rows ? row * static_cast<int>(stride) + column : column * static_cast<int>(stride) + row;
}
}  // namespace details

template <class Use, int M, int N, int K, class T, class L>
inline void load_matrix_sync(fragment<Use, M, N, K, T, L>& f, const typename details::Stored<T>::Type* from,
                             unsigned stride, LEAP_LINE) {
  __syncwarp(0xffffffffu, leap_line);
  for (int e = 0; e < f.num_elements; ++e)
    f.x[e] =
        from[details::offset<fragment<Use, M, N, K, T, L>>(e, stride, std::is_same<L, row_major>::value)];
}
template <int M, int N, int K, class T>
inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* from, unsigned stride,
                             layout_t layout, LEAP_LINE) {
  __syncwarp(0xffffffffu, leap_line);
  for (int e = 0; e < f.num_elements; ++e)
    f.x[e] = from[details::offset<fragment<accumulator, M, N, K, T>>(e, stride, layout == mem_row_major)];
}
template <int M, int N, int K, class T>
inline void store_matrix_sync(T* to, const fragment<accumulator, M, N, K, T>& f, unsigned stride,
                              layout_t layout, LEAP_LINE) {
  __syncwarp(0xffffffffu, leap_line);
  for (int e = 0; e < f.num_elements; ++e)
    to[details::offset<fragment<accumulator, M, N, K, T>>(e, stride, layout == mem_row_major)] = f.x[e];
}
inline float __float_to_tf32(float value) {
  return __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u);
}

namespace details {
// Other lanes' fragments are no memory of this thread: these reads are not checked.
template <class T>
LEAP_UNCHECKED inline T value_at(const T* at) {
  return *at;
}
LEAP_UNCHECKED inline float value_at(const __half* at) { return leap_cuda::half_value(at->__x); }
LEAP_UNCHECKED inline float value_at(const __nv_bfloat16* at) { return leap_cuda::bfloat_value(at->__x); }
}  // namespace details

/// Every lane works out its own elements of D; where the others' lie, they say.
template <int M, int N, int K, class T, class LA, class LB, class C, class D>
LEAP_UNCHECKED inline void mma_sync(fragment<accumulator, M, N, K, D>& d,
                                    const fragment<matrix_a, M, N, K, T, LA>& a,
                                    const fragment<matrix_b, M, N, K, T, LB>& b,
                                    const fragment<accumulator, M, N, K, C>& c, LEAP_LINE) {
  struct Operands {
    const fragment<matrix_a, M, N, K, T, LA>* a;
    const fragment<matrix_b, M, N, K, T, LB>* b;
  } mine{&a, &b};
  const std::uint64_t* all = leap_cuda::warp_values(leap_line, reinterpret_cast<std::uint64_t>(&mine));
  using Sum = std::conditional_t<std::is_same<D, double>::value, double,
                                 std::conditional_t<std::is_integral<D>::value, int, float>>;
  constexpr int kA = fragment<matrix_a, M, N, K, T, LA>::num_elements;
  constexpr int kB = fragment<matrix_b, M, N, K, T, LB>::num_elements;
  D out[fragment<accumulator, M, N, K, D>::num_elements];
  for (int e = 0; e < d.num_elements; ++e) {
    const int at = static_cast<int>(leap_cuda::lane()) * d.num_elements + e;
    const int row = at / N, column = at % N;
    Sum sum = static_cast<Sum>(details::value_at(&c.x[e]));
    for (int k = 0; k < K; ++k) {
      const int ia = row * K + k, ib = k * N + column;
      const auto* with_a = reinterpret_cast<const Operands*>(all[ia / kA])->a;
      const auto* with_b = reinterpret_cast<const Operands*>(all[ib / kB])->b;
      sum += static_cast<Sum>(details::value_at(&with_a->x[ia % kA])) *
             static_cast<Sum>(details::value_at(&with_b->x[ib % kB]));
    }
    out[e] = static_cast<D>(sum);
  }
  __syncwarp(0xffffffffu, leap_line);
  for (int e = 0; e < d.num_elements; ++e) d.x[e] = out[e];
}

}  // namespace wmma
}  // namespace nvcuda
