#include "decomp/cpp_server.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "base/error.hpp"

extern "C" const char leap_cpp_runtime[], leap_cpp_runtime_end[];  // the bytes of a static library

namespace leap::decomp {
namespace {

constexpr long kBinaryKb = 32 << 10;  // addresses that any binary needs beside its own

}  // namespace

std::string_view cpp_runtime() {
  return {leap_cpp_runtime, static_cast<std::size_t>(leap_cpp_runtime_end - leap_cpp_runtime)};
}

CppServer::CppServer(sandbox::Mode mode, const std::string& program)
    : inside_(sandbox::start_inside(mode, sandbox::Image{program, LEAP_SERVE}, 64)) {
  char hello = 0;
  receive(&hello, 1, 60);
}

CppServer::~CppServer() {
  sandbox::end_inside(inside_);
}

void CppServer::receive(void* data, std::size_t size, double patience_s) {
  for (char* at = static_cast<char*>(data); size > 0;) {
    if (!sandbox::wait_for_answer(inside_.control, patience_s))
      throw sandbox::Fault("server: no answer in time");
    const ssize_t n = recv(inside_.control, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw sandbox::Fault("server: it has ended");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

CppServer::Run CppServer::run(const std::vector<int>& choice, const std::string& input,
                              const sandbox::Limits& limits) {
  LeapRun asked{};
  asked.cpu_s = limits.cpu_s, asked.wall_s = limits.wall_s;
  asked.memory_kb = (static_cast<long>(limits.memory_mb) << 10) + kBinaryKb;
  asked.output_kb = limits.output_kb, asked.file_kb = static_cast<long>(limits.file_mb) << 10;
  asked.processes = limits.processes;
  asked.input_size = input.size();
  for (std::size_t l = 0; l < choice.size(); ++l) asked.choice[l] = static_cast<std::uint16_t>(choice[l]);
  std::string request(reinterpret_cast<const char*>(&asked), sizeof asked);
  request += input;
  if (!sandbox::send_all(inside_.control, request)) throw sandbox::Fault("server: it has ended");
  LeapRan ran{};
  receive(&ran, sizeof ran, limits.wall_s * 1.5 + 30);
  if (ran.out_size > (static_cast<std::uint64_t>(limits.output_kb) << 10) || ran.err_size > 1 << 20)
    throw sandbox::Fault("server: an answer of another kind");
  Run out;
  std::string errors(ran.err_size, '\0');
  out.result.output.resize(ran.out_size);
  receive(out.result.output.data(), ran.out_size, 60);
  receive(errors.data(), errors.size(), 60);
  static constexpr RunEnd kEnds[] = {RunEnd::kExit, RunEnd::kSignal, RunEnd::kCpu,
                                     RunEnd::kWall, RunEnd::kMemory, RunEnd::kOutput};
  if (ran.end < 0 || ran.end > kLeapOutput) throw sandbox::Fault("server: an answer of another kind");
  out.result.end = kEnds[ran.end];
  out.result.code = ran.code;
  out.result.cpu_s = ran.cpu_s, out.result.wall_s = ran.wall_s;
  out.result.rss_kb = ran.rss_kb;
  if (errors.find("std::bad_alloc") != std::string::npos) out.result.flags = kMemoryError;
  if (ran.calls[0] == kLeapMagic)
    out.calls.assign(reinterpret_cast<const char*>(ran.calls) + 1, choice.size());
  out.unsure = ran.others != 0 || ran.end == kLeapWall;
  return out;
}

}  // namespace leap::decomp
