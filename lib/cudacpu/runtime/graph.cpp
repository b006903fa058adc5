// Streams, events and graphs. Work on a stream is done at once, in the order of the host; a stream that
// records keeps it instead, for the graph.
#include "graph.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "internal.h"

using Work = std::vector<std::function<void()>>;

struct CUstream_st {
  unsigned flags = 0;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point at;
  bool recorded = false;
};
struct CUgraph_st {
  std::shared_ptr<Work> work;
};
struct CUgraphExec_st {
  std::shared_ptr<Work> work;
};

namespace leap_cuda {
namespace {

std::mutex streams_mutex;
std::map<cudaStream_t, std::shared_ptr<Work>> recording;
std::map<cudaEvent_t, std::shared_ptr<Work>>
    recorded_in;  // events of streams that record: who waits for one joins
std::set<cudaStream_t> streams;

bool known(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return true;
  std::lock_guard<std::mutex> lock(streams_mutex);
  return streams.count(stream) > 0;
}

}  // namespace

bool record(cudaStream_t stream, std::function<void()> work) {
  std::lock_guard<std::mutex> lock(streams_mutex);
  if (recording.empty()) return false;
  const auto at = recording.find(stream);
  if (at == recording.end()) return false;
  at->second->push_back(std::move(work));
  return true;
}

}  // namespace leap_cuda

using namespace leap_cuda;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  *stream = new CUstream_st{flags};
  std::lock_guard<std::mutex> lock(streams_mutex);
  streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!stream || !known(stream)) return fail(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> lock(streams_mutex);
  streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (!known(stream)) return fail(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> lock(streams_mutex);
  return recording.count(stream) ? fail(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return cudaStreamSynchronize(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (!known(stream) || !event) return fail(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> lock(streams_mutex);
  const auto at = recorded_in.find(event);
  if (at != recorded_in.end()) recording[stream] = at->second;
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (!record(stream, [=] { function(data); })) function(data);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!event || !known(stream)) return fail(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> lock(streams_mutex);
  const auto at = recording.find(stream);
  if (at != recording.end()) {
    recorded_in[event] = at->second;
    return cudaSuccess;
  }
  event->at = std::chrono::steady_clock::now();
  event->recorded = true;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return event ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return cudaEventSynchronize(event);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin || !end || !begin->recorded || !end->recorded) return fail(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return fail(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> lock(streams_mutex);
  recorded_in.erase(event);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!stream) return fail(cudaErrorStreamCaptureUnsupported);
  std::lock_guard<std::mutex> lock(streams_mutex);
  recording[stream] = std::make_shared<Work>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  std::lock_guard<std::mutex> lock(streams_mutex);
  const auto at = recording.find(stream);
  if (at == recording.end()) return fail(cudaErrorInvalidValue);
  const auto work = at->second;
  // The streams that joined end with it.
  for (auto one = recording.begin(); one != recording.end();)
    one = one->second == work ? recording.erase(one) : std::next(one);
  for (auto one = recorded_in.begin(); one != recorded_in.end();)
    one = one->second == work ? recorded_in.erase(one) : std::next(one);
  *graph = new CUgraph_st{work};
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  std::lock_guard<std::mutex> lock(streams_mutex);
  *status = recording.count(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  if (!graph) return fail(cudaErrorInvalidValue);
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t*, char*,
                                 size_t) {
  return cudaGraphInstantiate(executable, graph, 0ull);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  return cudaGraphInstantiate(executable, graph, 0ull);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  if (!executable) return fail(cudaErrorInvalidValue);
  for (const auto& work : *executable->work) work();
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
