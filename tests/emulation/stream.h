// A stream's work: done at once, or kept while the stream is captured.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

/// What cudaStream_t points to.
struct CUstream_st {
  bool capturing = false;
  std::vector<std::function<void()>> captured;
};

namespace emulation {

inline void enqueue(cudaStream_t stream, std::function<void()> work) {
  if (stream->capturing) {
    stream->captured.push_back(std::move(work));
  } else {
    work();
  }
}

}  // namespace emulation
