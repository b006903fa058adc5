// Runs one case: driver NAME ORDER. A line a report on stdout: kind, line, message.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "leap_cuda/hooks.h"

extern "C" int run_case(const char* name);

static void print(const leap_cuda::Report& report) {
  std::printf("%s %d %s: %s\n", report.kind, report.line, report.kernel.c_str(), report.message.c_str());
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  leap_cuda::on_fatal([](const leap_cuda::Report& report) {
    print(report);
    _exit(0);
  });
  leap_cuda::Settings settings;
  if (argc > 2) settings.order = static_cast<unsigned>(std::atoi(argv[2]));
  leap_cuda::begin(settings);
  if (!run_case(argv[1])) return 3;
  leap_cuda::Summary summary;
  leap_cuda::finish(&summary);
  for (const leap_cuda::Report& report : summary.reports) print(report);
  return 0;
}
