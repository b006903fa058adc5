// What g++ -fsanitize=thread,bounds,alignment calls. The sanitizers' own libraries are not linked.
#ifdef LEAP_CHECKED
#include <cstring>

#include "check_access.h"
#include "check_lines.h"

using leap_cuda::check::Access;
using leap_cuda::check::Caller;
using leap_cuda::check::checker;
using leap_cuda::check::here;

namespace {

inline void accessed(void* at, std::size_t bytes, Access kind, Caller caller) {
  if (here && here->running)
    here->access(at, bytes, kind, caller);
  else if (checker)
    checker->host_access(at, bytes, kind != Access::kRead, caller);
}

// Threads that wait for a flag let others run.
inline void polled() {
  static unsigned reads = 0;
  if (here && here->running && ++reads % 64 == 0) leap_cuda::yield();
}

inline Access of_order(int order) {
  // memory_order: 3 release, 4 acq_rel, 5 seq_cst.
  return order >= 3 ? Access::kAtomicRelease : Access::kAtomic;
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define LEAP_ACCESS(NAME, BYTES, KIND)              \
  void __tsan_##NAME##BYTES(void* at) {             \
    accessed(at, BYTES, Access::KIND, LEAP_CALLER); \
  }
#define LEAP_ACCESSES(BYTES)                                   \
  LEAP_ACCESS(unaligned_read, BYTES, kRead)                    \
  LEAP_ACCESS(unaligned_write, BYTES, kWrite)                  \
  void __tsan_volatile_read##BYTES(void* at) {                 \
    polled();                                                  \
    accessed(at, BYTES, Access::kRead, LEAP_CALLER);           \
  }                                                            \
  LEAP_ACCESS(volatile_write, BYTES, kVolatileWrite)           \
  LEAP_ACCESS(unaligned_volatile_read, BYTES, kRead)           \
  LEAP_ACCESS(unaligned_volatile_write, BYTES, kVolatileWrite) \
  void __tsan_read_write##BYTES(void* at) {                    \
    accessed(at, BYTES, Access::kRead, LEAP_CALLER);           \
    accessed(at, BYTES, Access::kWrite, LEAP_CALLER);          \
  }
LEAP_ACCESSES(1)
LEAP_ACCESSES(2)
LEAP_ACCESSES(4)
LEAP_ACCESSES(8)
LEAP_ACCESSES(16)

#define LEAP_PLAIN(BYTES)                                                           \
  void __tsan_read##BYTES(void* at) {                                               \
    if (here && here->running && here->quick_read<BYTES>(at)) return;               \
    accessed(at, BYTES, Access::kRead, LEAP_CALLER);                                \
  }                                                                                 \
  void __tsan_write##BYTES(void* at) {                                              \
    if (here && here->running && here->quick_write<BYTES>(at, LEAP_CALLER)) return; \
    accessed(at, BYTES, Access::kWrite, LEAP_CALLER);                               \
  }
LEAP_PLAIN(4)
LEAP_PLAIN(8)
LEAP_PLAIN(16)
LEAP_ACCESS(read, 1, kRead)
LEAP_ACCESS(write, 1, kWrite)
LEAP_ACCESS(read, 2, kRead)
LEAP_ACCESS(write, 2, kWrite)

void __tsan_read_range(void* at, unsigned long bytes) {
  if (bytes) accessed(at, bytes, Access::kRead, LEAP_CALLER);
}
void __tsan_write_range(void* at, unsigned long bytes) {
  if (bytes) accessed(at, bytes, Access::kWrite, LEAP_CALLER);
}

void __tsan_atomic_thread_fence(int order) {
  if (order >= 3) leap_cuda::check::fence(2);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}

#define LEAP_UPDATE(BITS, T, NAME, BUILTIN)                                \
  T __tsan_atomic##BITS##_##NAME(volatile T* at, T value, int order) {     \
    accessed(const_cast<T*>(at), sizeof(T), of_order(order), LEAP_CALLER); \
    return BUILTIN(at, value, __ATOMIC_SEQ_CST);                           \
  }
#define LEAP_COMPARE(BITS, T, NAME, WEAK)                                                                   \
  int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile T* at, T* expected, T value, int order, int) { \
    accessed(const_cast<T*>(at), sizeof(T), of_order(order), LEAP_CALLER);                                  \
    return __atomic_compare_exchange_n(at, expected, value, WEAK, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }
#define LEAP_ATOMICS(BITS, T)                                                                         \
  T __tsan_atomic##BITS##_load(const volatile T* at, int) {                                           \
    accessed(const_cast<T*>(at), sizeof(T), Access::kAtomic, LEAP_CALLER);                            \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                   \
  void __tsan_atomic##BITS##_store(volatile T* at, T value, int order) {                              \
    accessed(const_cast<T*>(at), sizeof(T), of_order(order), LEAP_CALLER);                            \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                   \
  LEAP_UPDATE(BITS, T, exchange, __atomic_exchange_n)                                                 \
  LEAP_UPDATE(BITS, T, fetch_add, __atomic_fetch_add)                                                 \
  LEAP_UPDATE(BITS, T, fetch_sub, __atomic_fetch_sub)                                                 \
  LEAP_UPDATE(BITS, T, fetch_and, __atomic_fetch_and)                                                 \
  LEAP_UPDATE(BITS, T, fetch_or, __atomic_fetch_or)                                                   \
  LEAP_UPDATE(BITS, T, fetch_xor, __atomic_fetch_xor)                                                 \
  LEAP_UPDATE(BITS, T, fetch_nand, __atomic_fetch_nand)                                               \
  LEAP_COMPARE(BITS, T, strong, false)                                                                \
  LEAP_COMPARE(BITS, T, weak, true)                                                                   \
  T __tsan_atomic##BITS##_compare_exchange_val(volatile T* at, T expected, T value, int order, int) { \
    accessed(const_cast<T*>(at), sizeof(T), of_order(order), LEAP_CALLER);                            \
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
    return expected;                                                                                  \
  }
LEAP_ATOMICS(8, unsigned char)
LEAP_ATOMICS(16, unsigned short)
LEAP_ATOMICS(32, unsigned int)
LEAP_ATOMICS(64, unsigned long)

// --- -fsanitize=bounds,alignment
// ---------------------------------------------------------------------------------
struct leap_source_location {
  const char* file;
  std::uint32_t line, column;
};
struct leap_type {
  std::uint16_t kind, info;
  char name[1];
};
struct leap_out_of_bounds {
  leap_source_location at;
  leap_type* array;
  leap_type* index;
};
struct leap_type_mismatch {
  leap_source_location at;
  leap_type* type;
  unsigned char log_alignment, kind;
};

void __ubsan_handle_out_of_bounds(void* data, unsigned long index) {
  if (!here || !here->running) return;
  const auto* const d = static_cast<const leap_out_of_bounds*>(data);
  const unsigned bits = 1u << (d->index->info >> 1);
  auto value = static_cast<std::int64_t>(index);
  if ((d->index->info & 1) && bits < 64)
    value = static_cast<std::int64_t>(index << (64 - bits)) >> (64 - bits);
  const int line = leap_cuda::check::is_candidate_file(d->at.file) ? static_cast<int>(d->at.line) : 0;
  here->bad_index(line, value, d->array->name, LEAP_CALLER);
}

void __ubsan_handle_type_mismatch_v1(void* data, unsigned long at) {
  if (!here || !here->running) return;
  const auto* const d = static_cast<const leap_type_mismatch*>(data);
  const int line = leap_cuda::check::is_candidate_file(d->at.file) ? static_cast<int>(d->at.line) : 0;
  // A null pointer is the access's to find.
  if (at >= 65536 && (at & ((std::size_t{1} << d->log_alignment) - 1)) != 0)
    here->misaligned(line, LEAP_CALLER, d->type->name);
}

}  // extern "C"
#endif
