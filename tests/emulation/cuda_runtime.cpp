// The CUDA runtime on host memory, as far as the backend calls it.
#include "tests/emulation/emulated_stream.h"
#include "tests/emulation/faults.h"
#include "tests/emulation/pointer_checks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

using Clock = std::chrono::steady_clock;

struct CUevent_st {
  Clock::time_point recorded;
  // Where it was recorded last, if in a capture:
  cudaStream_t origin = nullptr, stream = nullptr;
  std::size_t after = 0;        // what the stream had enqueued
  std::size_t collectives = 0;  // as CUstream_st's
};
struct CUgraph_st {
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};

namespace {

constexpr std::size_t alignment = 256;
const std::size_t total_memory = [] {
  const char* asked = std::getenv("EMULATED_MEMORY_MIB");
  return (asked == nullptr ? std::size_t{8192} : std::strtoull(asked, nullptr, 10)) << 20;
}();
constexpr int fresh = 0xff;  // a NaN in every floating dtype

thread_local int current_device = 0;

struct Allocation {
  std::size_t bytes;
  bool on_device;
  int device;
};
std::map<const void*, Allocation> allocations;
std::mutex allocations_mutex;
std::size_t used_memory = 0;
thread_local int captures = 0;  // under way in this thread, as the backend asks for
cudaError_t last_error = cudaSuccess;

cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

/// What waits or allocates is refused while a stream is captured.
cudaError_t unless_capturing() { return answer(captures > 0 ? cudaErrorStreamCaptureUnsupported : cudaSuccess); }

/// The host has waited for what a stream or an event came after.
void ended(std::size_t collectives) {
  emulation::ended_collectives = std::max(emulation::ended_collectives.load(), collectives);
}

/// Takes part in no capture any more.
void restart(CUstream_st& stream) {
  CUstream_st fresh_stream;
  fresh_stream.device = stream.device;
  fresh_stream.collectives = stream.collectives;
  stream = std::move(fresh_stream);
}

cudaError_t allocate(void** memory, std::size_t bytes, bool on_device) {
  emulation::refuse_beside_collectives("memory is allocated");
  if (unless_capturing() != cudaSuccess) return cudaErrorStreamCaptureUnsupported;
  if (bytes > total_memory - used_memory) return answer(cudaErrorMemoryAllocation);
  *memory = std::aligned_alloc(alignment, (std::max(bytes, alignment) + alignment - 1) / alignment * alignment);
  std::memset(*memory, fresh, bytes);
  const std::lock_guard lock(allocations_mutex);
  allocations[*memory] = {bytes, on_device, current_device};
  used_memory += bytes;
  return cudaSuccess;
}

cudaError_t release(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  const std::lock_guard lock(allocations_mutex);
  const auto allocation = allocations.find(memory);
  if (allocation == allocations.end()) return answer(cudaErrorInvalidValue);
  used_memory -= allocation->second.bytes;
  allocations.erase(allocation);
  std::free(memory);
  return cudaSuccess;
}

}  // namespace

void emulation::refuse_beside_collectives(const char* what) {
  if (collectives == ended_collectives) return;
  std::fprintf(stderr, "emulation: %s while %zu collectives are in flight\n", what, collectives - ended_collectives);
  std::abort();
}

void emulation::require_current(cudaStream_t stream, const char* what) {
  if (stream->device == current_device) return;
  std::fprintf(stderr, "emulation: %s on a stream of GPU %d by a thread whose current GPU is %d\n", what,
               stream->device, current_device);
  std::abort();
}

void emulation::require_on_device(const void* memory, int device) {
  const std::lock_guard lock(allocations_mutex);
  auto next = allocations.upper_bound(memory);
  if (next == allocations.begin() || (--next)->second.device == device) return;
  std::fprintf(stderr, "emulation: memory of GPU %d is written by a stream of GPU %d\n", next->second.device, device);
  std::abort();
}

void emulation::require_device_memory(const char* what, const void* memory, std::size_t bytes, std::size_t alignment) {
  const auto* const begin = static_cast<const char*>(memory);
  const char* fault = reinterpret_cast<std::uintptr_t>(memory) % alignment != 0 ? "is not aligned" : nullptr;
  {
    const std::lock_guard lock(allocations_mutex);
    auto next = allocations.upper_bound(memory);
    const bool within =
        next != allocations.begin() &&
        (--next, begin + bytes <= static_cast<const char*>(next->first) + std::max(next->second.bytes, alignment));
    if (!within) fault = "reaches beyond its allocation, or has none";
    if (within && !next->second.on_device) fault = "is in the host's memory";
  }
  if (fault == nullptr) return;
  std::fprintf(stderr, "emulation: %s (%zu bytes at %p) %s\n", what, bytes, memory, fault);
  std::abort();
}

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t) { return "an error of the emulation"; }
const char* cudaGetErrorName(cudaError_t) { return "emulated"; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    return *count = 1 + static_cast<int>(std::count(visible, visible + std::strlen(visible), ',')), cudaSuccess;
  }
  const char* asked = std::getenv("EMULATED_GPUS");
  return *count = asked != nullptr ? std::atoi(asked) : 1, cudaSuccess;
}
cudaError_t cudaSetDevice(int index) { return current_device = index, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char* text, int, int) {
  const char* address = std::getenv("EMULATED_PCI_BUS_ID");  // none: a GPU without sensors
  return std::strcpy(text, address != nullptr ? address : ""), cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  *properties = {};
  const char* const name = std::getenv("EMULATED_GPU_NAME");
  std::strcpy(properties->name, name != nullptr ? name : "an emulated GPU");
  if (index > 0) std::sprintf(properties->name + std::strlen(properties->name), " %d", index);
  properties->major = 9;
  properties->multiProcessorCount = 3;
  properties->totalGlobalMem = total_memory;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) { return allocate(memory, bytes, true); }
cudaError_t cudaFree(void* memory) { return release(memory); }
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return allocate(memory, bytes, false); }
cudaError_t cudaFreeHost(void* memory) { return release(memory); }
cudaError_t cudaMemGetInfo(std::size_t* left, std::size_t* total) {
  *left = total_memory - used_memory;
  *total = total_memory;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return unless_capturing();
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  emulation::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  emulation::enqueue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    }
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0 && stream->origin != nullptr) return answer(cudaErrorInvalidValue);  // a graph's node of no bytes
  emulation::require_on_device(memory, stream->device);
  emulation::enqueue(stream, [=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  (*stream)->device = current_device;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream != nullptr) ended(stream->collectives);
  return unless_capturing();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->origin == nullptr) {
    stream->collectives = std::max(stream->collectives, event->collectives);
    return answer(stream->origin != nullptr ? cudaErrorStreamCaptureIsolation : cudaSuccess);
  }
  if (event->origin->origin == nullptr) return answer(cudaErrorCapturedEvent);  // of a capture that has ended
  if (stream->origin == nullptr) {
    restart(*stream);
    stream->origin = event->origin;
    event->origin->forked.push_back(stream);
  } else if (stream->origin == stream) {
    event->stream->joined = event->after;
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  emulation::require_current(stream, "an event is recorded");
  emulation::enqueue(stream, [=] { event->recorded = Clock::now(); });
  event->origin = stream->origin;
  event->stream = stream;
  event->after = stream->enqueued;
  event->collectives = stream->collectives;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  ended(event->collectives);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ended(event->collectives);
  return unless_capturing();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->recorded - from->recorded).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  restart(*stream);
  stream->origin = stream;
  ++captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  --captures;
  const CUstream_st capture = *stream;
  restart(*stream);
  bool joined = true;
  for (const cudaStream_t fork : capture.forked) {
    joined = joined && fork->joined == fork->enqueued;
    restart(*fork);
  }
  *graph = joined ? new CUgraph_st{capture.captured} : nullptr;
  return answer(joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  if (emulation::fails("instantiation")) return answer(cudaErrorNotSupported);
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const auto& work : executable->work) emulation::enqueue(stream, work);
  stream->collectives = emulation::collectives;
  return cudaSuccess;
}

}  // extern "C"
