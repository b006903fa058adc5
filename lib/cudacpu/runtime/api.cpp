// The CUDA runtime API: memory and copies, streams and graphs, the device.
#include "leap_cuda/api.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "graph.h"
#include "internal.h"

extern "C" char __executable_start, _end;

namespace leap_cuda {
namespace {

thread_local int error_now = 0;

/// Host code alone: a kernel that calls the API is dynamic parallelism.
void host_only() {
  if (in_kernel()) uncovered("CUDA runtime calls in device code");
}

bool is_static_data(const void* at) {
  return at >= static_cast<const void*>(&__executable_start) && at < static_cast<const void*>(&_end);
}

/// Is the whole span memory that a device may use?
bool is_device_span(const void* at, std::size_t bytes) {
  if (is_static_data(at)) return true;
  Allocation allocation;
  if (!find_allocation(at, &allocation)) return false;
  return static_cast<std::size_t>(static_cast<const unsigned char*>(at) - allocation.at) + bytes <=
         allocation.bytes;
}

bool is_host_span(const void* at, std::size_t bytes) {
  if (!at) return false;
  if (in_managed_range(at)) return is_device_span(at, bytes);
  return !in_device_range(at);
}

// --- who wrote what
// --------------------------------------------------------------------------------------------- Bytes that
// came from the host, as long as no copy or memset has replaced them. Whether a kernel has is seen by
// comparing.
struct FromHost {
  unsigned char* at;
  std::vector<unsigned char> bytes;
};
std::vector<FromHost> from_host;
std::mutex from_host_mutex;
constexpr std::size_t kMostFromHost = 64 << 20;

void forget_span(unsigned char* at, std::size_t bytes) {
  std::vector<FromHost> left;
  for (FromHost& old : from_host) {
    unsigned char* const end = old.at + old.bytes.size();
    if (end <= at || old.at >= at + bytes) {
      left.push_back(std::move(old));
      continue;
    }
    if (old.at < at) left.push_back({old.at, {old.bytes.begin(), old.bytes.begin() + (at - old.at)}});
    if (end > at + bytes)
      left.push_back({at + bytes, {old.bytes.end() - (end - (at + bytes)), old.bytes.end()}});
  }
  from_host = std::move(left);
}

void remember_span(unsigned char* at, const unsigned char* from, std::size_t bytes) {
  std::size_t all = bytes;
  for (const FromHost& old : from_host) all += old.bytes.size();
  if (all <= kMostFromHost) from_host.push_back({at, {from, from + bytes}});
}

/// Device memory `to` gets what is at `from`; both can be read.
void note_copy(void* to, const void* from, std::size_t bytes, bool from_device) {
  if (!in_device_range(to)) return;
  auto* at = static_cast<unsigned char*>(to);
  std::lock_guard<std::mutex> lock(from_host_mutex);
  if (!from_device) {
    forget_span(at, bytes);
    remember_span(at, static_cast<const unsigned char*>(from), bytes);
    return;
  }
  std::vector<FromHost> moved;
  const auto* source = static_cast<const unsigned char*>(from);
  for (const FromHost& old : from_host) {
    const unsigned char* const begin = std::max<const unsigned char*>(old.at, source);
    const unsigned char* const end =
        std::min<const unsigned char*>(old.at + old.bytes.size(), source + bytes);
    if (begin < end)
      moved.push_back({at + (begin - source),
                       {old.bytes.begin() + (begin - old.at), old.bytes.begin() + (end - old.at)}});
  }
  forget_span(at, bytes);
  for (FromHost& one : moved) from_host.push_back(std::move(one));
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  if (!to || !from) return fail(cudaErrorInvalidValue);
  const bool to_device = is_device_span(to, bytes), from_device = is_device_span(from, bytes);
  const bool to_host = is_host_span(to, bytes), host_from = is_host_span(from, bytes);
  bool fine = false;
  switch (kind) {
    case cudaMemcpyHostToHost:
      fine = to_host && host_from;
      break;
    case cudaMemcpyHostToDevice:
      fine = to_device && host_from;
      break;
    case cudaMemcpyDeviceToHost:
      fine = to_host && from_device;
      break;
    case cudaMemcpyDeviceToDevice:
      fine = to_device && from_device;
      break;
    case cudaMemcpyDefault:
      fine = (to_device || to_host) && (from_device || host_from);
      break;
    default:
      return fail(cudaErrorInvalidMemcpyDirection);
  }
  if (!fine) return fail(cudaErrorInvalidValue);
  const Unlocked unlocked;
  std::memmove(to, from, bytes);
  check::copied(to, from, bytes);
  note_copy(to, from, bytes, in_device_range(from));
  return cudaSuccess;
}

cudaError_t set(void* at, int value, std::size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  if (!at || !is_device_span(at, bytes)) return fail(cudaErrorInvalidValue);
  const Unlocked unlocked;
  std::memset(at, value, bytes);
  check::copied(at, nullptr, bytes);
  std::lock_guard<std::mutex> lock(from_host_mutex);
  forget_span(static_cast<unsigned char*>(at), bytes);
  return cudaSuccess;
}

cudaError_t allocate(void** at, std::size_t bytes, Allocation::Kind kind) {
  host_only();
  if (!at) return fail(cudaErrorInvalidValue);
  if (bytes == 0) {
    *at = nullptr;
    return cudaSuccess;
  }
  *at = device_allocate(bytes, kind);
  return *at ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

cudaError_t release_memory(void* at) {
  host_only();
  if (!at) return cudaSuccess;
  Allocation allocation;
  if (!find_allocation(at, &allocation) || allocation.at != at || allocation.kind == Allocation::kBuffer)
    return fail(cudaErrorInvalidValue);
  return device_free(at) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

/// Work on a stream: now, or into the graph that the stream records.
cudaError_t in_stream(cudaStream_t stream, std::function<cudaError_t()> work) {
  host_only();
  if (record(stream, [work] { work(); })) return cudaSuccess;
  return work();
}

}  // namespace

int last_error() {
  return error_now;
}
void set_error(int error) {
  error_now = error;
}
cudaError_t fail(cudaError_t error) {
  set_error(error);
  return error;
}
void forget_writers() {
  from_host.clear();
}

bool host_wrote(const void* device, std::size_t bytes) {
  const Unlocked unlocked;
  const auto* begin = static_cast<const unsigned char*>(device);
  for (const FromHost& one : from_host) {
    const unsigned char* from = std::max<const unsigned char*>(one.at, begin);
    const unsigned char* to = std::min<const unsigned char*>(one.at + one.bytes.size(), begin + bytes);
    if (from >= to) continue;
    // Zeros say nothing: a kernel may well have written them again.
    std::size_t same = 0;
    for (const unsigned char* at = from; at < to; ++at)
      same += *at != 0 && *at == one.bytes[static_cast<std::size_t>(at - one.at)];
    if (same * 4 >= static_cast<std::size_t>(to - from) || same >= 256) return true;
  }
  return false;
}

void* buffer(std::size_t bytes) {
  return device_allocate(bytes, Allocation::kBuffer);
}
void release(void* at) {
  device_free(at);
}

void put(void* device, const void* from, std::size_t bytes) {
  const Unlocked unlocked;
  std::memcpy(device, from, bytes);
  check::copied(device, nullptr, bytes);
}

void get(void* to, const void* device, std::size_t bytes) {
  const Unlocked unlocked;
  std::memcpy(to, device, bytes);
}

cudaError_t symbol_copy(void* to, const void* from, size_t bytes, size_t symbol_bytes, size_t offset,
                        bool to_symbol) {
  if (offset + bytes > symbol_bytes) return fail(cudaErrorInvalidValue);
  const Unlocked unlocked;
  if (to_symbol)
    std::memcpy(static_cast<char*>(to) + offset, from, bytes);
  else
    std::memcpy(to, static_cast<const char*>(from) + offset, bytes);
  check::copied(to_symbol ? static_cast<char*>(to) + offset : to, nullptr, bytes);
  return cudaSuccess;
}

cudaError_t set_attribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || value > limits().optin_shared) return fail(cudaErrorInvalidValue);
    kernel->max_dynamic_shared = value;
  }
  return cudaSuccess;
}

cudaError_t get_attributes(Kernel* kernel, cudaFuncAttributes* attributes) {
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = kernel->max_threads ? static_cast<int>(kernel->max_threads) : 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = limits().arch;
  attributes->maxDynamicSharedSizeBytes = std::max(48 << 10, kernel->max_dynamic_shared);
  return cudaSuccess;
}

cudaError_t occupancy(int* blocks, Kernel* kernel, int threads, size_t dynamic_shared) {
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction);
  if (threads < 1 || threads > 1024) return fail(cudaErrorInvalidValue);
  int most = std::min(2048 / ((threads + 31) / 32 * 32), 32);
  if (dynamic_shared)
    most = std::min(most, static_cast<int>((limits().optin_shared + 1024) / (dynamic_shared + 1024)));
  *blocks = std::max(0, most);
  return cudaSuccess;
}

cudaError_t launched() {
  return static_cast<cudaError_t>(last_error());
}

bool configure(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative) launch_cooperatively();
    if (attribute.id == cudaLaunchAttributeClusterDimension &&
        attribute.val.clusterDim.x * attribute.val.clusterDim.y * attribute.val.clusterDim.z > 1)
      uncovered("thread block clusters");
  }
  push_configuration(config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream, 0);
  return true;
}

cudaError_t launch_untyped(const void* stub, dim3 grid, dim3 block, void** arguments, size_t shared,
                           cudaStream_t stream, bool cooperative, int line) {
  if (cooperative) launch_cooperatively();
  push_configuration(grid, block, shared, stream, line);
  if (!call_untyped(stub, arguments))
    uncovered("a launch through a pointer that the emulation does not know");
  return launched();
}

}  // namespace leap_cuda

using namespace leap_cuda;

cudaError_t cudaGetLastError() {
  const int error = last_error();
  set_error(0);
  return static_cast<cudaError_t>(error);
}
cudaError_t cudaPeekAtLastError() {
  return static_cast<cudaError_t>(last_error());
}

#define LEAP_TEXT(NAME, VALUE, TEXT) \
  case VALUE:                        \
    return TEXT;
#define LEAP_NAME(NAME, VALUE, TEXT) \
  case VALUE:                        \
    return #NAME;
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) { LEAP_ERRORS(LEAP_TEXT) }
  return "unrecognized error code";
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) { LEAP_ERRORS(LEAP_NAME) }
  return "unrecognized error code";
}

cudaError_t cudaMalloc(void** at, size_t bytes) {
  return allocate(at, bytes, Allocation::kDevice);
}
cudaError_t cudaMallocAsync(void** at, size_t bytes, cudaStream_t) {
  return allocate(at, bytes, Allocation::kDevice);
}
cudaError_t cudaMallocManaged(void** at, size_t bytes, unsigned) {
  return allocate(at, bytes, Allocation::kManaged);
}
cudaError_t cudaMallocHost(void** at, size_t bytes, unsigned) {
  return allocate(at, bytes, Allocation::kPinned);
}
cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned) {
  return allocate(at, bytes, Allocation::kPinned);
}
cudaError_t cudaMallocPitch(void** at, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(at, *pitch * height, Allocation::kDevice);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* at, cudaExtent extent) {
  at->xsize = extent.width;
  at->ysize = extent.height;
  at->pitch = (extent.width + 511) / 512 * 512;
  return allocate(&at->ptr, at->pitch * extent.height * extent.depth, Allocation::kDevice);
}
cudaError_t cudaFree(void* at) {
  return release_memory(at);
}
cudaError_t cudaFreeAsync(void* at, cudaStream_t) {
  return release_memory(at);
}
cudaError_t cudaFreeHost(void* at) {
  return release_memory(at);
}
cudaError_t cudaHostRegister(void*, size_t, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void*) {
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  if (!in_managed_range(host)) return fail(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = device_bytes_in_all();
  *free = *total - std::min(*total, device_bytes_used());
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
  *attributes = {};
  Allocation allocation;
  if (!find_allocation(at, &allocation)) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->hostPointer = const_cast<void*>(at);
    return cudaSuccess;
  }
  attributes->devicePointer = const_cast<void*>(at);
  attributes->type = allocation.kind == Allocation::kManaged  ? cudaMemoryTypeManaged
                     : allocation.kind == Allocation::kPinned ? cudaMemoryTypeHost
                                                              : cudaMemoryTypeDevice;
  if (attributes->type != cudaMemoryTypeDevice) attributes->hostPointer = attributes->devicePointer;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  host_only();
  return copy(to, from, bytes, kind);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return in_stream(stream, [=] { return copy(to, from, bytes, kind); });
}
static cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                             size_t height, cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = copy(static_cast<char*>(to) + row * to_pitch,
                                   static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  host_only();
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return in_stream(stream, [=] { return copy_rows(to, to_pitch, from, from_pitch, width, height, kind); });
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) {
  host_only();
  return set(at, value, bytes);
}
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  return in_stream(stream, [=] { return set(at, value, bytes); });
}
cudaError_t cudaMemset2D(void* at, size_t pitch, int value, size_t width, size_t height) {
  host_only();
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = set(static_cast<char*>(at) + row * pitch, value, width);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemset2DAsync(void* at, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return in_stream(stream, [=] { return cudaMemset2D(at, pitch, value, width, height); });
}
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) {
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  host_only();
  return cudaSuccess;
}
cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}
cudaError_t cudaDeviceReset() {
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  *value = limit == cudaLimitStackSize ? 1024 : 8 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}
cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device != 0) return fail(cudaErrorInvalidDevice);
  *p = {};
  const DeviceLimits& l = limits();
  std::strcpy(p->name, l.arch == 90 ? "Emulated sm_90" : "Emulated sm_80");
  p->totalGlobalMem = device_bytes_in_all();
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = static_cast<size_t>(l.optin_shared);
  p->sharedMemPerMultiprocessor = static_cast<size_t>(l.optin_shared) + 1024;
  p->reservedSharedMemPerBlock = 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->clockRate = 1410000;
  p->memoryClockRate = 1215000;
  p->memoryBusWidth = 5120;
  p->totalConstMem = 65536;
  p->major = l.arch / 10;
  p->minor = l.arch % 10;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = l.multiprocessors;
  p->deviceOverlap = p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->concurrentManagedAccess = p->cooperativeLaunch = p->computePreemptionSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = p->streamPrioritiesSupported = p->ECCEnabled = 1;
  p->asyncEngineCount = 3;
  p->l2CacheSize = 40 << 20;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->singleToDoublePrecisionPerfRatio = 2;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ:
      *value = p.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX];
      break;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = p.maxGridSize[attribute - cudaDevAttrMaxGridDimX];
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrTotalConstantMemory:
      *value = static_cast<int>(p.totalConstMem);
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMaxPitch:
      *value = 0x7fffffff;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = p.regsPerBlock;
      break;
    case cudaDevAttrClockRate:
      *value = p.clockRate;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrMemoryClockRate:
      *value = p.memoryClockRate;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = p.memoryBusWidth;
      break;
    case cudaDevAttrL2CacheSize:
      *value = p.l2CacheSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrAsyncEngineCount:
      *value = p.asyncEngineCount;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = p.maxBlocksPerMultiProcessor;
      break;
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
      *value = 0;
      break;
    default:
      *value = 1;
      break;
  }
  return cudaSuccess;
}
