// The CUDA runtime API of host code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "leap_cuda/device.h"

#define CUDART_VERSION 12040
#define CUDA_VERSION 12040
#define CUDART_CB
#define CUDARTAPI

#define LEAP_ERRORS(E)                                                                                 \
  E(cudaSuccess, 0, "no error")                                                                        \
  E(cudaErrorInvalidValue, 1, "invalid argument")                                                      \
  E(cudaErrorMemoryAllocation, 2, "out of memory")                                                     \
  E(cudaErrorInitializationError, 3, "initialization error")                                           \
  E(cudaErrorCudartUnloading, 4, "driver shutting down")                                               \
  E(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                \
  E(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                          \
  E(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                               \
  E(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                                           \
  E(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                       \
  E(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                          \
  E(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")   \
  E(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                     \
  E(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                      \
  E(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                             \
  E(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                    \
  E(cudaErrorNotReady, 600, "device not ready")                                                        \
  E(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                          \
  E(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                     \
  E(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                            \
  E(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                          \
  E(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                            \
  E(cudaErrorAssert, 710, "device-side assert triggered")                                              \
  E(cudaErrorHostMemoryAlreadyRegistered, 712,                                                         \
    "part or all of the requested memory range is already mapped")                                     \
  E(cudaErrorMisalignedAddress, 716, "misaligned address")                                             \
  E(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                         \
  E(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                  \
  E(cudaErrorNotPermitted, 800, "operation not permitted")                                             \
  E(cudaErrorNotSupported, 801, "operation not supported")                                             \
  E(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")        \
  E(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture") \
  E(cudaErrorUnknown, 999, "unknown error")

#define LEAP_ENUMERATE(NAME, VALUE, TEXT) NAME = VALUE,
enum cudaError { LEAP_ERRORS(LEAP_ENUMERATE) };
#undef LEAP_ENUMERATE
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14
};
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault,
  cudaSharedMemBankSizeFourByte,
  cudaSharedMemBankSizeEightByte
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxShared = 100,
  cudaSharedmemCarveoutMaxL1 = 0
};
enum cudaLimit {
  cudaLimitStackSize,
  cudaLimitPrintfFifoSize,
  cudaLimitMallocHeapSize,
  cudaLimitDevRuntimeSyncDepth,
  cudaLimitDevRuntimePendingLaunchCount,
  cudaLimitMaxL2FetchGranularity,
  cudaLimitPersistingL2CacheSize
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxPitch = 11,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrMemoryPoolsSupported = 115
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered,
  cudaMemoryTypeHost,
  cudaMemoryTypeDevice,
  cudaMemoryTypeManaged
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated
};
enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore,
  cudaLaunchAttributeAccessPolicyWindow,
  cudaLaunchAttributeCooperative,
  cudaLaunchAttributeSynchronizationPolicy,
  cudaLaunchAttributeClusterDimension,
  cudaLaunchAttributeClusterSchedulingPolicyPreference,
  cudaLaunchAttributeProgrammaticStreamSerialization,
  cudaLaunchAttributePriority = 8
};

typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct CUgraphNode_st* cudaGraphNode_t;
typedef struct CUmemPoolHandle_st* cudaMemPool_t;
typedef void (*cudaHostFn_t)(void*);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void*);

#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaOccupancyDefault 0x00
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceMapHost 0x08
#define cudaCpuDeviceId ((int)-1)
#define cudaInvalidDeviceId ((int)-2)

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
  int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess,
      computePreemptionSupported;
  int cooperativeLaunch, cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
  int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};
struct cudaPointerAttributes {
  enum cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
struct cudaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct cudaExtent {
  size_t width, height, depth;
};
struct cudaMemLocation {
  int type, id;
};
union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

cudaError_t cudaMalloc(void** at, size_t bytes);
cudaError_t cudaMallocAsync(void** at, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocManaged(void** at, size_t bytes, unsigned flags = cudaMemAttachGlobal);
cudaError_t cudaMallocHost(void** at, size_t bytes, unsigned flags = 0);
cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned flags);
cudaError_t cudaMallocPitch(void** at, size_t* pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr* at, cudaExtent extent);
cudaError_t cudaFree(void* at);
cudaError_t cudaFreeAsync(void* at, cudaStream_t stream);
cudaError_t cudaFreeHost(void* at);
cudaError_t cudaHostRegister(void* at, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* at);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at);

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = 0);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemset(void* at, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream = 0);
cudaError_t cudaMemset2D(void* at, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void* at, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream = 0);
cudaError_t cudaMemPrefetchAsync(const void* at, size_t bytes, int device, cudaStream_t stream = 0);
cudaError_t cudaMemAdvise(const void* at, size_t bytes, cudaMemoryAdvise advice, int device);

cudaError_t cudaDeviceSynchronize();
cudaError_t cudaThreadSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t* node,
                                 char* log, size_t log_bytes);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

namespace leap_cuda {
void launch_cooperatively();
Kernel* describe_untyped(const void* stub);
bool call_untyped(const void* stub, void** arguments);
cudaError_t set_attribute(Kernel* kernel, cudaFuncAttribute attribute, int value);
cudaError_t get_attributes(Kernel* kernel, cudaFuncAttributes* attributes);
cudaError_t occupancy(int* blocks, Kernel* kernel, int threads, size_t dynamic_shared);
cudaError_t symbol_copy(void* to, const void* from, size_t bytes, size_t symbol_bytes, size_t offset,
                        bool to_symbol);
cudaError_t launched();
bool configure(const cudaLaunchConfig_t& config);
template <class... P>
Kernel* kernel_of(void (*stub)(P...)) {
  return describe(stub);
}
inline Kernel* kernel_of(const void* stub) {
  return describe_untyped(stub);
}
cudaError_t launch_untyped(const void* stub, dim3 grid, dim3 block, void** arguments, size_t shared,
                           cudaStream_t stream, bool cooperative, int line);
template <class... P, std::size_t... I>
void call_by_addresses(void (*stub)(P...), void** arguments, std::index_sequence<I...>) {
  stub(*static_cast<std::remove_cv_t<P>*>(arguments[I])...);
}
}  // namespace leap_cuda

template <class T>
inline cudaError_t cudaMalloc(T** at, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(at), bytes);
}
template <class T>
inline cudaError_t cudaMallocAsync(T** at, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(at), bytes, stream);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** at, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(at), bytes, flags);
}
template <class T>
inline cudaError_t cudaMallocHost(T** at, size_t bytes, unsigned flags = 0) {
  return cudaMallocHost(reinterpret_cast<void**>(at), bytes, flags);
}
template <class T>
inline cudaError_t cudaHostAlloc(T** at, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(at), bytes, flags);
}
template <class T>
inline cudaError_t cudaMallocPitch(T** at, size_t* pitch, size_t width, size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(at), pitch, width, height);
}
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

template <class T>
inline cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return leap_cuda::symbol_copy((void*)&symbol, from, bytes, sizeof(T), offset, true);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind = cudaMemcpyHostToDevice, cudaStream_t = 0) {
  return leap_cuda::symbol_copy((void*)&symbol, from, bytes, sizeof(T), offset, true);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, T& symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return leap_cuda::symbol_copy(to, (const void*)&symbol, bytes, sizeof(T), offset, false);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, T& symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind = cudaMemcpyDeviceToHost, cudaStream_t = 0) {
  return leap_cuda::symbol_copy(to, (const void*)&symbol, bytes, sizeof(T), offset, false);
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void** at, T& symbol) {
  *at = (void*)&symbol;
  return cudaSuccess;
}
template <class P, class T>
inline cudaError_t cudaGetSymbolAddress(P** at, T& symbol) {
  *at = (P*)&symbol;
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t* bytes, T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}

template <class F>
inline cudaError_t cudaFuncSetAttribute(F kernel, cudaFuncAttribute attribute, int value) {
  return leap_cuda::set_attribute(leap_cuda::kernel_of(kernel), attribute, value);
}
template <class F>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F kernel) {
  return leap_cuda::get_attributes(leap_cuda::kernel_of(kernel), attributes);
}
template <class F>
inline cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) {
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaFuncSetSharedMemConfig(F, cudaSharedMemConfig) {
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F kernel, int threads,
                                                                 size_t dynamic_shared) {
  return leap_cuda::occupancy(blocks, leap_cuda::kernel_of(kernel), threads, dynamic_shared);
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F kernel, int threads,
                                                                          size_t dynamic_shared, unsigned) {
  return leap_cuda::occupancy(blocks, leap_cuda::kernel_of(kernel), threads, dynamic_shared);
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* least_grid, int* block, F kernel,
                                                      size_t dynamic_shared = 0, int limit = 0) {
  const unsigned most = leap_cuda::kernel_of(kernel)->max_threads;
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  if (most && static_cast<int>(most) < *block) *block = static_cast<int>(most);
  int blocks = 0;
  leap_cuda::occupancy(&blocks, leap_cuda::kernel_of(kernel), *block, dynamic_shared);
  int multiprocessors = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  *least_grid = blocks * multiprocessors;
  return cudaSuccess;
}
template <class F, class G>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* least_grid, int* block, F kernel,
                                                                  G shared_of, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSize(least_grid, block, kernel, shared_of(256), limit);
}

template <class... P>
inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                                    size_t shared = 0, cudaStream_t stream = 0, LEAP_LINE) {
  leap_cuda::push_configuration(grid, block, shared, stream, leap_line);
  leap_cuda::call_by_addresses(kernel, arguments, std::index_sequence_for<P...>());
  return leap_cuda::launched();
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared = 0, cudaStream_t stream = 0, LEAP_LINE) {
  return leap_cuda::launch_untyped(kernel, grid, block, arguments, shared, stream, false, leap_line);
}
template <class... P>
inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                                               size_t shared = 0, cudaStream_t stream = 0, LEAP_LINE) {
  leap_cuda::launch_cooperatively();
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream, leap_line);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               size_t shared = 0, cudaStream_t stream = 0, LEAP_LINE) {
  return leap_cuda::launch_untyped(kernel, grid, block, arguments, shared, stream, true, leap_line);
}
template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                                      A&&... arguments) {
  leap_cuda::configure(*config);
  kernel(static_cast<A&&>(arguments)...);
  return leap_cuda::launched();
}
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments,
                                       LEAP_LINE) {
  leap_cuda::configure(*config);
  (void)leap_line;
  if (!leap_cuda::call_untyped(kernel, arguments)) return cudaErrorInvalidDeviceFunction;
  return leap_cuda::launched();
}
