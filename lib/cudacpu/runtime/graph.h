// Streams and the graphs that they record.
#pragma once

#include <functional>

#include "leap_cuda/api.h"

namespace leap_cuda {

// When `stream` records a graph, takes `work` into it and says true.
bool record(cudaStream_t stream, std::function<void()> work);

// An error of the API: kept for cudaGetLastError, and returned.
cudaError_t fail(cudaError_t error);

}  // namespace leap_cuda
