// Launches that fail, kernels that cannot go on, errors of the API. The first argument chooses.
#include "test.h"

#include <cstring>

__global__ void nothing() {}
__global__ void __launch_bounds__(64) bounded() {}
__global__ void null_write(int* p) { p[threadIdx.x] = 1; }
__global__ void never_meets(int* p) {
  if (threadIdx.x < 16) p[0] = __shfl_sync(0xffffffffu, 1, 0);
  else __syncthreads();
}
__global__ void wrong_mask(int* p) { p[threadIdx.x] = __shfl_sync(0xffu, 1, 0); }
__global__ void asserts(int n) { assert(n < 5); }
__global__ void traps() { __trap(); }
__global__ void divides(int* p, int zero) { p[threadIdx.x] = 7 / zero; }
__global__ void much_shared(int* p) {
  __shared__ float a[8192];
  __shared__ float b[8192];
  a[threadIdx.x] = b[threadIdx.x];
  p[0] = a[1];
}
__device__ int recursion(int n) { volatile char pad[1000]; pad[0] = n; return n == 0 ? 0 : recursion(n - 1) + pad[0]; }
__global__ void recursive(int* p, int n) { p[0] = recursion(n); }
__global__ void beyond(int* p) { p[1 << 28] = 1; }

static int reports(const char* kind, int line) {
  leap_cuda::Summary summary;
  leap_cuda::finish(&summary);
  EXPECT(summary.reports.size() == 1);
  if (!summary.reports.empty()) {
    EXPECT(!std::strcmp(summary.reports[0].kind, kind));
    EXPECT(line == 0 || summary.reports[0].line == line);
  }
  leap_cuda::begin({});
  return 0;
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "api";
  Buffer<int> p(64);
  if (what == "null") null_write<<<1, 32>>>(nullptr);
  if (what == "deadlock") never_meets<<<1, 32>>>(p.device);
  if (what == "mask") wrong_mask<<<1, 32>>>(p.device);
  if (what == "assert") asserts<<<1, 1>>>(5);
  if (what == "trap") traps<<<1, 1>>>();
  if (what == "stack") recursive<<<1, 1>>>(p.device, 100000);
  if (what == "shared") much_shared<<<1, 32>>>(p.device);
  if (what == "beyond") beyond<<<1, 1>>>(p.device);
  if (what == "host_read") return p.device[0];
  if (what == "unconfigured") nothing();
  if (what != "api") return done();

  nothing<<<1, 2000>>>();
  const int line = __LINE__ - 1;
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaSuccess);
  reports("launch_error", line);
  nothing<<<1, dim3(1, 1, 65)>>>();
  reports("launch_error", 0);
  nothing<<<dim3(1, 65536), 1>>>();
  reports("launch_error", 0);
  bounded<<<1, 65>>>();
  EXPECT(cudaGetLastError() == cudaErrorLaunchOutOfResources);
  reports("launch_error", 0);
  nothing<<<1, 1, 49153>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  reports("launch_error", 0);
  EXPECT(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000) == cudaSuccess);
  nothing<<<1, 1, 100000>>>();
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 170000) == cudaErrorInvalidValue);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  nothing<<<0, 1>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  leap_cuda::Summary summary;
  leap_cuda::finish(&summary);
  EXPECT(summary.launches_of_none == 1 && summary.reports.empty() && summary.launches == 1);

  divides<<<1, 32>>>(p.device, 0);
  p.down();
  EXPECT(p.host[0] == -1);

  void* big = nullptr;
  EXPECT(cudaMalloc(&big, size_t{1} << 50) == cudaErrorMemoryAllocation && big == nullptr);
  EXPECT(cudaMemcpy(p.device, p.host.data(), 65 * 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(p.host.data(), p.device, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaFree(p.device + 1) == cudaErrorInvalidValue);
  EXPECT(!std::strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
  EXPECT(!std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
  cudaGetLastError();

  // Memory comes poisoned; freed memory is given out again.
  unsigned* poisoned;
  cudaMalloc(&poisoned, 1000);
  unsigned word;
  cudaMemcpy(&word, poisoned + 249, 4, cudaMemcpyDeviceToHost);
  EXPECT(word == 0xffffffffu && reinterpret_cast<size_t>(poisoned) % 256 == 0);
  EXPECT(cudaMemset2D(poisoned, 100, 1, 40, 10) == cudaSuccess);
  std::vector<unsigned char> rows(400);
  EXPECT(cudaMemcpy2D(rows.data(), 40, poisoned, 100, 40, 10, cudaMemcpyDeviceToHost) == cudaSuccess && rows[399] == 1);
  cudaFree(poisoned);
  float* managed;
  cudaMallocManaged(&managed, 64);
  managed[3] = 5;
  EXPECT(managed[3] == 5);
  cudaPointerAttributes attributes;
  EXPECT(cudaPointerGetAttributes(&attributes, managed) == cudaSuccess && attributes.type == cudaMemoryTypeManaged);
  EXPECT(cudaPointerGetAttributes(&attributes, p.device) == cudaSuccess && attributes.type == cudaMemoryTypeDevice);
  cudaFree(managed);

  // Streams, events, graphs.
  cudaStream_t stream;
  EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreateWithFlags(&end, cudaEventDefault);
  cudaEventRecord(begin, stream);
  EXPECT(cudaMemsetAsync(p.device, 0, 256, stream) == cudaSuccess);
  cudaEventRecord(end, stream);
  float milliseconds = -1;
  EXPECT(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess && milliseconds >= 0);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  divides<<<1, 32, 0, stream>>>(p.device, 7);
  cudaMemcpyAsync(p.device + 32, p.device, 128, cudaMemcpyDeviceToDevice, stream);
  EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  p.down();
  EXPECT(p.host[0] == 0);
  EXPECT(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == cudaSuccess);
  EXPECT(cudaGraphLaunch(executable, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
  p.down();
  EXPECT(p.host[31] == 1 && p.host[63] == 1);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);

  // The device.
  cudaDeviceProp properties;
  int count = 0, blocks = 0, grid = 0, block = 0;
  EXPECT(cudaGetDeviceCount(&count) == cudaSuccess && count == 1);
  EXPECT(cudaGetDeviceProperties(&properties, 0) == cudaSuccess && properties.major == 8 && properties.warpSize == 32);
  EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0) == cudaSuccess && blocks == 8);
  EXPECT(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded) == cudaSuccess && block == 64);
  cudaFuncAttributes function;
  EXPECT(cudaFuncGetAttributes(&function, bounded) == cudaSuccess && function.maxThreadsPerBlock == 64);

  // What of a buffer the host wrote.
  auto* buffer = static_cast<int*>(leap_cuda::buffer(256));
  cudaMemset(buffer, 0, 256);
  EXPECT(!leap_cuda::host_wrote(buffer, 256));
  for (int i = 0; i < 64; ++i) p.host[i] = i + 1;
  cudaMemcpy(buffer, p.host.data(), 256, cudaMemcpyHostToDevice);
  EXPECT(leap_cuda::host_wrote(buffer, 256));
  divides<<<2, 32>>>(buffer, 3);
  divides<<<1, 32>>>(buffer + 32, 3);
  EXPECT(!leap_cuda::host_wrote(buffer, 256));
  p.up();
  cudaMemcpy(buffer, p.device, 256, cudaMemcpyDeviceToDevice);
  EXPECT(leap_cuda::host_wrote(buffer, 256));
  leap_cuda::release(buffer);
  return done();
}
