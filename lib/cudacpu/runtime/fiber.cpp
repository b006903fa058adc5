// Stacks of fibers and the switch between them.
//
// Theory. Each thread of a block that has to wait keeps its stack; the switch saves the registers that a call
// preserves and changes the stack pointer. A thread that never waits needs no stack of its own: the next one
// starts where it ended.
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <vector>

#include "internal.h"

#if defined(__x86_64__)
asm(R"(.text
.globl leap_switch
.type leap_switch,@function
leap_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size leap_switch,.-leap_switch
.type leap_fiber_begin,@function
leap_fiber_begin:
  movq %rbx, %rdi
  call leap_fiber_main
  ud2
.size leap_fiber_begin,.-leap_fiber_begin
)");
#elif defined(__aarch64__)
asm(R"(.text
.globl leap_switch
.type leap_switch,%function
leap_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size leap_switch,.-leap_switch
.type leap_fiber_begin,%function
leap_fiber_begin:
  mov x0, x19
  bl leap_fiber_main
  brk #0
.size leap_fiber_begin,.-leap_fiber_begin
)");
#else
#error "no fibers for this processor: x86-64 and aarch64 are known"
#endif

extern "C" void leap_fiber_begin();

namespace leap_cuda {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSlab = 16;  // fibers mapped at once

struct Slab {
  unsigned char* at;
};

std::mutex slabs_mutex;
std::vector<Slab> slabs;
std::size_t fibers_made = 0;

}  // namespace

Fiber* new_fiber() {
  unsigned char* stack;
  std::size_t number;
  {
    std::lock_guard<std::mutex> lock(slabs_mutex);
    number = fibers_made++;
    if (number % kSlab == 0) {
      void* at = mmap(nullptr, kSlab * (kStackBytes + kPage), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) fatal("device_fault", 0, "no memory for the stacks of so many threads");
      slabs.push_back({static_cast<unsigned char*>(at)});
    }
    stack = slabs.back().at + number % kSlab * (kStackBytes + kPage);
  }
  mprotect(stack, kPage, PROT_NONE);
  auto* fiber = new Fiber;
  fiber->stack = stack + kPage;
  fiber->stack_bytes = kStackBytes;
  // Tops at different offsets, or all stacks would share the same few sets of the cache.
  const std::size_t colour = number * 576 % 8192 / 64 * 64;
  auto** top = reinterpret_cast<void**>(fiber->stack + kStackBytes - colour);
#if defined(__x86_64__)
  top -= 2;  // so that the stack is aligned at the call
  *--top = reinterpret_cast<void*>(leap_fiber_begin);
  *--top = nullptr;  // rbp
  *--top = fiber;    // rbx
  for (int i = 0; i < 4; ++i) *--top = nullptr;
#else
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = nullptr;
  top[0] = fiber;                                       // x19
  top[11] = reinterpret_cast<void*>(leap_fiber_begin);  // x30
#endif
  fiber->stack_pointer = top;
  return fiber;
}

bool is_stack_guard(const void* at) {
  for (const Slab& slab : slabs) {
    const std::size_t offset = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - slab.at);
    if (offset < kSlab * (kStackBytes + kPage)) return offset % (kStackBytes + kPage) < kPage;
  }
  return false;
}

}  // namespace leap_cuda
