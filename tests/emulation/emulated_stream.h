// A stream's work: done at once, or kept while the stream is captured.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <functional>
#include <vector>

/// What cudaStream_t points to.
struct CUstream_st {
  int device = 0;                 // the GPU that was its thread's current one when it was made
  CUstream_st* origin = nullptr;  // where the capture began that this stream takes part in
  std::size_t enqueued = 0;       // in it
  std::size_t joined = 0;         // of these, what the origin waits for
  std::size_t collectives = 0;    // number of the process's collectives that precede what is enqueued next

  // Of a capture's origin:
  std::vector<std::function<void()>> captured;
  std::vector<CUstream_st*> forked;
};

namespace emulation {

/// All-reduces that this process's streams have come to, and how many of them the host knows to have ended.
inline std::atomic<std::size_t> collectives = 0, ended_collectives = 0;

/// Ends the program with a line unless the stream's GPU is the calling thread's current one, as a launch needs.
void require_current(cudaStream_t stream, const char* what);

/// The same unless the memory was allocated on that GPU.
void require_on_device(const void* memory, int device);

/// Ends the program with a line where a device would still be waiting for other ranks: what waits for all of its work,
/// or keeps the host busy for long, may hang there.
void refuse_beside_collectives(const char* what);

inline void enqueue(cudaStream_t stream, std::function<void()> work) {
  if (stream->origin == nullptr) return work();
  ++stream->enqueued;
  stream->origin->captured.push_back(std::move(work));
}

}  // namespace emulation
