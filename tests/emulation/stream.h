// A stream's work: done at once, or kept while the stream is captured.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

/// What cudaStream_t points to.
struct CUstream_st {
  CUstream_st* origin = nullptr;  // where the capture began that this stream takes part in
  std::size_t enqueued = 0;       // in it
  std::size_t joined = 0;         // of these, what the origin waits for

  // Of a capture's origin:
  std::vector<std::function<void()>> captured;
  std::vector<CUstream_st*> forked;
};

namespace emulation {

inline void enqueue(cudaStream_t stream, std::function<void()> work) {
  if (stream->origin == nullptr) return work();
  ++stream->enqueued;
  stream->origin->captured.push_back(std::move(work));
}

}  // namespace emulation
