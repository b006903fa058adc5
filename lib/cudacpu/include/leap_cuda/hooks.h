// What the trial driver and the checker use of the runtime.
//
// The driver owns main. It calls begin() before a trial, the candidate, then finish(). The runtime never
// writes to a file descriptor, apart from the candidate's own printf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leap_cuda {

struct Settings {
  unsigned order = 0;         // of threads and blocks: 0 forward, 1 reverse, else the seed of a shuffle
  unsigned workers = 1;       // threads of the system that run blocks
  int arch = 80;              // compute capability, 80 or 90
  std::size_t memory_mb = 0;  // what cudaMalloc can have in all; 0: 2048
};

struct Report {
  const char* kind =
      "";        // out_of_bounds race deadlock device_fault launch_error interface_error compile_error
  int line = 0;  // of the candidate's source, 0 when unknown
  std::string kernel;
  std::string message;  // without addresses and values
};

struct Summary {
  long launches = 0;            // that ran
  long launches_of_none = 0;    // refused for a zero dimension of the grid only
  std::vector<Report> reports;  // launch_error and what the checker found, in order
};

void begin(const Settings& settings);  // forgets errors, counters, reports and who wrote what
void finish(Summary* summary);         // waits for the device

// A device allocation of the driver's: 256-byte aligned, at least 256 bytes of guard on both sides, filled
// with 0xFF.
void* buffer(std::size_t bytes);
void release(void* buffer);
void put(void* device, const void* from, std::size_t bytes);  // guards can be written and read too
void get(void* to, const void* device, std::size_t bytes);

// Was any of these bytes last written by a copy from the host or by host code, not on the device?
bool host_wrote(const void* device, std::size_t bytes);

// Called, possibly in a signal handler, when the run cannot go on. It must not return; without it the process
// ends with status 97 and the report on stderr.
void on_fatal(void (*handler)(const Report&));

}  // namespace leap_cuda
