// What goes wrong in a run, said to the trial driver; faults of the processor among it.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "internal.h"

namespace leap_cuda {
namespace {

Settings current;
Summary gathered;
std::mutex reports_mutex;
void (*handler)(const Report&) = nullptr;
DeviceLimits device_limits{80, 108, 163 << 10};

std::string kernel_name() {
  return this_block ? this_block->launch->kernel->name : "";
}

[[noreturn]] void leave(const Report& report) {
  if (handler) handler(report);
  const std::string text =
      std::string("leap-cuda: ") + report.kind + ": line " + std::to_string(report.line) + ": " +
      (report.kernel.empty() ? "" : "kernel " + report.kernel + ": ") + report.message + "\n";
  if (write(2, text.data(), text.size())) {
  }
  _exit(97);
}

#if defined(__x86_64__)
/// A division by zero of integers is no fault on a device: the result is all ones. Steps over the
/// instruction.
bool pass_division(ucontext_t* context) {
  auto* registers = context->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  const unsigned char* at = code;
  bool wide = false;
  if (*at == 0x66) ++at;
  if ((*at & 0xf0) == 0x40) {
    wide = *at & 8;
    ++at;
  }
  if (*at != 0xf7 && *at != 0xf6) return false;
  const bool byte = *at == 0xf6;
  ++at;
  const unsigned char form = *at++;
  if ((form >> 3 & 7) < 6) return false;
  const int mode = form >> 6, base = form & 7;
  if (mode != 3) {
    if (base == 4) {
      const unsigned char scale = *at++;
      if (mode == 0 && (scale & 7) == 5) at += 4;
    }
    if (mode == 0 && base == 5) at += 4;
    if (mode == 1) at += 1;
    if (mode == 2) at += 4;
  }
  if (byte) {
    registers[REG_RAX] |= 0xffff;
  } else {
    const auto dividend = registers[REG_RAX];
    registers[REG_RAX] = wide ? -1 : 0xffffffffll;
    registers[REG_RDX] = wide ? dividend : (dividend & 0xffffffffll);
  }
  registers[REG_RIP] += at - code;
  return true;
}
#endif

void on_fault(int signal, siginfo_t* info, void* context) {
#if defined(__x86_64__)
  if (signal == SIGFPE && in_kernel() && pass_division(static_cast<ucontext_t*>(context))) return;
#else
  (void)context;
#endif
  check::settle();
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const char* kind = "device_fault";
  const char* what = nullptr;
  if (in_kernel()) {
    if (signal == SIGFPE) {
      what = "an arithmetic fault in a kernel";
    } else if (signal == SIGILL || signal == SIGTRAP) {
      what = "a kernel ran into a trap";
    } else if (info->si_code == SI_KERNEL || signal == SIGBUS) {
      what = "a kernel accessed misaligned memory or a wild address";
    } else if (is_stack_guard(info->si_addr)) {
      what = "a thread of a kernel used up its stack";
    } else if (address < 65536) {
      what = "a kernel accessed memory through a null pointer";
    } else if (address - reinterpret_cast<std::uintptr_t>(device_base()) < (std::uintptr_t{1} << 42)) {
      kind = "out_of_bounds";
      what = "a kernel accessed memory that is not allocated";
    } else {
      what = "a kernel accessed an address that is no memory of the device";
    }
  } else if (signal == SIGSEGV && in_device_range(info->si_addr)) {
    what = "host code accessed device memory";
  }
  if (!what) {
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  Report report;
  report.kind = kind;
  report.line = this_block ? this_block->launch->kernel->line : 0;
  report.kernel = kernel_name();
  report.message = what;
  leave(report);
}

}  // namespace

const Settings& settings() {
  return current;
}
const DeviceLimits& limits() {
  return device_limits;
}

void install_fault_handler() {
  // The stack that faults may be the one that is used up.
  constexpr std::size_t kBytes = 64 << 10;
  stack_t stack{};
  stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigaction(signal, &action, nullptr);
}

void note(const char* kind, int line, const std::string& message) {
  std::lock_guard<std::mutex> lock(reports_mutex);
  if (gathered.reports.size() >= 100) return;
  gathered.reports.push_back({kind, line, kernel_name(), message});
}

void fatal(const char* kind, int line, const std::string& message) {
  leave({kind, line, kernel_name(), message});
}

void trap(int line) {
  fatal("device_fault", line, "a kernel ran into a trap");
}

void uncovered(const char* feature) {
  fatal("interface_error", this_block ? this_block->launch->line : 0,
        std::string("not covered by the emulation: ") + feature);
}

void on_fatal(void (*h)(const Report&)) {
  handler = h;
}

void count_launch() {
  std::lock_guard<std::mutex> lock(reports_mutex);
  ++gathered.launches;
}

void refuse_launch(int error, int line, const char* kernel, const std::string& why, bool only_empty) {
  set_error(error);
  std::lock_guard<std::mutex> lock(reports_mutex);
  if (only_empty) {
    ++gathered.launches_of_none;
    return;
  }
  if (gathered.reports.size() < 100) gathered.reports.push_back({"launch_error", line, kernel, why});
}

void forget_writers();

void begin(const Settings& wanted) {
  static bool ready = false;
  if (!ready) {
    ready = true;
    install_fault_handler();
  }
  current = wanted;
  if (wanted.arch == 90)
    device_limits = {90, 132, 227 << 10};
  else
    device_limits = {80, 108, 163 << 10};
  gathered = {};
  set_error(0);
  forget_writers();
  check::begin_trial();
}

void finish(Summary* summary) {
  check::end_trial();
  std::lock_guard<std::mutex> lock(reports_mutex);
  *summary = gathered;
}

}  // namespace leap_cuda

/// assert() of a kernel and of the host.
extern "C" void __assert_fail(const char* expression, const char* file, unsigned line,
                              const char* function) noexcept {
  if (leap_cuda::in_kernel())
    leap_cuda::fatal("device_fault", static_cast<int>(line), std::string("assertion failed: ") + expression);
  const std::string text = std::string(file) + ":" + std::to_string(line) + ": " +
                           (function ? function : "") + ": Assertion `" + expression + "' failed.\n";
  if (write(2, text.data(), text.size())) {
  }
  std::abort();
}
