// Runs the trials of a kernel problem for the candidate, on device memory; with LEAP_REFERENCE for the reference, on the
// host's. Trials come in and bytes go out as messages (frames.h); nothing is judged here.
//
// In: {"trial", number, layout, order, more calls, poison, spec, bytes of each argument that has some ..}; spec has a line
// an argument: "i COUNT WIDTH" in, "b .." inout, "o .. FLOAT" out, "v INTEGER REAL" by value.
// Out, in this order: {"report", kind, line, kernel, message} ..; {"out" (the first call) or "again" (a later call with
// other bytes), argument, bytes} .., long ones in parts; {"done", number, figures}.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>

#include "frames.h"
#if defined(LEAP_REFERENCE)
#include <memory>
#else
#include "leap_cuda/hooks.h"
#endif

/// The candidate's or the reference's function, called with values out of these arrays, one place an argument.
extern "C" void leap_kernel_entry(void* const* buffers, const long long* integers, const double* reals);

namespace leap_driver {
namespace {

constexpr std::size_t kGuard = 256, kPart = 8u << 20;
constexpr unsigned char kGuardByte = 0xa5;
long own_pid = 0;

/// A fork of the candidate's that came back here is no trial.
void require_own_process() {
  if (call(SYS_getpid, 0, nullptr, 0) != own_pid) leave(1);
}

struct Slot {
  char kind = 'v';
  std::size_t count = 0, width = 0;
  bool is_float = false;
  std::size_t field = 0;  // of the message that holds its bytes
  char* memory = nullptr;
  std::string first;  // its bytes after the first call
  std::size_t bytes() const { return count * width; }
  bool is_output() const { return kind == 'o' || kind == 'b'; }
};

#if defined(LEAP_REFERENCE)
char* new_buffer(std::size_t bytes) {
  return static_cast<char*>(std::aligned_alloc(256, (bytes + 2 * kGuard + 255) / 256 * 256)) + kGuard;
}
void put(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void get(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
#else
using leap_cuda::get;
using leap_cuda::put;

char* new_buffer(std::size_t bytes) {
  char* out = static_cast<char*>(leap_cuda::buffer(bytes));
  if (!out) leave(98);
  return out;
}

void send_report(const leap_cuda::Report& report) {
  send({"report", report.kind, std::to_string(report.line), report.kernel, report.message});
}

[[noreturn]] void leave_with(const leap_cuda::Report& report) {
  require_own_process();
  send_report(report);
  send({"fatal"});
  leave(97);
}
#endif

class Trial {
 public:
  explicit Trial(const std::vector<std::string>& message) : message_(message) {
    number_ = message[1];
    order_ = static_cast<unsigned>(std::atol(message[3].c_str()));
    more_ = std::atoi(message[4].c_str());
    const std::uint64_t poison = std::strtoull(message[5].c_str(), nullptr, 10);
    std::memcpy(poison_, &poison, sizeof poison_);
    std::size_t field = 7;
    for (const char* at = message[6].c_str(); *at;) {
      Slot slot;
      slot.kind = *at++;
      char* end = nullptr;
      if (slot.kind == 'v') {
        integers_.push_back(std::strtoll(at, &end, 10));
        reals_.push_back(std::strtod(end, &end));
      } else {
        integers_.push_back(0);
        reals_.push_back(0);
        slot.count = std::strtoull(at, &end, 10);
        slot.width = std::strtoull(end, &end, 10);
        slot.is_float = std::strtol(end, &end, 10) != 0;
        if (slot.kind != 'o') slot.field = field++;
      }
      slots_.push_back(slot);
      at = *end ? end + 1 : end;
    }
    // Problems of equal sizes use the same addresses.
    std::vector<char*>& memory = layouts()[message[2]];
    if (memory.empty())
      for (const Slot& slot : slots_) memory.push_back(slot.kind == 'v' ? nullptr : new_buffer(slot.bytes()));
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].memory = memory[i];
  }

  void run() {
    call_once(order_);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (!slot.is_output()) continue;
      slot.first.resize(slot.bytes());
      get(&slot.first[0], slot.memory, slot.bytes());
      send_bytes("out", i, slot.first);
#if !defined(LEAP_REFERENCE)
      if (leap_cuda::host_wrote(slot.memory, slot.bytes())) host_wrote_ = static_cast<int>(i);
#endif
    }
    for (int i = 0; i < more_ && !stopped(); ++i) {
      call_once(i % 2 == 0 ? (order_ == 1 ? 0 : 1) : order_);
      for (std::size_t k = 0; k < slots_.size(); ++k) {
        Slot& slot = slots_[k];
        if (!slot.is_output()) continue;
        std::string now(slot.bytes(), '\0');
        get(&now[0], slot.memory, slot.bytes());
        if (now != slot.first) send_bytes("again", k, now);
      }
    }
    send({"done", number_,
          std::to_string(launches_) + " " + std::to_string(launches_of_none_) + " " + std::to_string(host_wrote_) + " " +
              std::to_string(mutated_) + " " + std::to_string(mutated_at_) + " " + std::to_string(guard_) + " " +
              std::to_string(guard_side_) + " " + std::to_string(threw_)});
  }

 private:
  static std::map<std::string, std::vector<char*>>& layouts() {
    static std::map<std::string, std::vector<char*>> it;
    return it;
  }

  bool stopped() const { return threw_ || guard_ >= 0 || mutated_ >= 0 || reported_; }

  static void send_bytes(const char* name, std::size_t argument, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += kPart)
      send({name, std::to_string(argument), bytes.substr(at, kPart)});
  }

  void fill(const Slot& slot) {
    const std::string guard(kGuard, static_cast<char>(kGuardByte));
    put(slot.memory - kGuard, guard.data(), kGuard);
    put(slot.memory + slot.bytes(), guard.data(), kGuard);
    if (slot.field) {
      put(slot.memory, message_[slot.field].data(), slot.bytes());
      return;
    }
    std::string poison(slot.bytes(), '\0');
#if !defined(LEAP_REFERENCE)
    for (std::size_t i = 0; i < poison.size(); ++i)
      poison[i] = slot.is_float ? '\xff' : static_cast<char>(poison_[i % sizeof poison_]);
#endif
    put(slot.memory, poison.data(), poison.size());
  }

  void check(std::size_t i) {
    const Slot& slot = slots_[i];
    unsigned char guard[2][kGuard];
    get(guard[0], slot.memory - kGuard, kGuard);
    get(guard[1], slot.memory + slot.bytes(), kGuard);
    for (int side = 0; side < 2; ++side)
      for (const unsigned char byte : guard[side])
        if (byte != kGuardByte && guard_ < 0) guard_ = static_cast<int>(i), guard_side_ = side;
    if (slot.kind != 'i' || mutated_ >= 0) return;
    const std::string& given = message_[slot.field];
    std::string now(slot.bytes(), '\0');
    get(&now[0], slot.memory, slot.bytes());
    if (std::memcmp(now.data(), given.data(), now.size()) == 0) return;
    std::size_t at = 0;
    while (now[at] == given[at]) ++at;
    mutated_ = static_cast<int>(i);
    mutated_at_ = static_cast<long>(at / slot.width);
  }

  void call_once(unsigned order) {
    std::vector<void*> buffers;
#if !defined(LEAP_REFERENCE)
    leap_cuda::Settings settings;
    settings.order = order;
    settings.workers = static_cast<unsigned>(workers);
    settings.arch = arch;
    settings.memory_mb = memory_mb;
    leap_cuda::begin(settings);
#else
    (void)order;
#endif
    for (const Slot& slot : slots_) {
      buffers.push_back(slot.memory);
      if (slot.kind != 'v') fill(slot);
    }
    try {
      leap_kernel_entry(buffers.data(), integers_.data(), reals_.data());
    } catch (...) {
      threw_ = 1;
    }
#if !defined(LEAP_REFERENCE)
    leap_cuda::Summary summary;
    leap_cuda::finish(&summary);
    require_own_process();
    launches_ = summary.launches;
    launches_of_none_ += summary.launches_of_none;
    for (const leap_cuda::Report& report : summary.reports) {
      reported_ = true;
      send_report(report);
    }
#else
    require_own_process();
#endif
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].kind != 'v') check(i);
  }

  const std::vector<std::string>& message_;
  std::string number_;
  unsigned order_ = 0;
  int more_ = 0;
  unsigned char poison_[8];
  std::vector<Slot> slots_;
  std::vector<long long> integers_;
  std::vector<double> reals_;
  long launches_ = 0, launches_of_none_ = 0, mutated_at_ = 0;
  int host_wrote_ = -1, mutated_ = -1, guard_ = -1, guard_side_ = 0, threw_ = 0;
  bool reported_ = false;

 public:
  static long workers, arch, memory_mb;
};

long Trial::workers = 1, Trial::arch = 80, Trial::memory_mb = 0;

// Before any constructor of the candidate's: the key to the messages is gone from the pipe.
char key[256];

void take_key() {
  std::vector<std::string> message;
  if (!receive(message) || message.size() != 1 || message[0].size() >= sizeof key) leave(1);
  std::memcpy(key, message[0].c_str(), message[0].size() + 1);
  own_pid = call(SYS_getpid, 0, nullptr, 0);
}

__attribute__((section(".preinit_array"), used)) void (*const take_key_first)() = take_key;

}  // namespace
}  // namespace leap_driver

int main(int count, char** arguments) {
  using namespace leap_driver;
  nonce() = key;
  std::memset(key, 0, sizeof key);
  if (count > 3) {
    Trial::workers = std::atol(arguments[1]);
    Trial::arch = std::atol(arguments[2]);
    Trial::memory_mb = std::atol(arguments[3]);
  }
#if !defined(LEAP_REFERENCE)
  leap_cuda::on_fatal(leave_with);
#endif
  send({"ready"});
  std::vector<std::string> message;
  while (receive(message) && message.size() > 6 && message[0] == "trial") Trial(message).run();
  leave(0);
}
