#include "core/cuda/device/recorded_sequence.h"

#include "core/base/errors.h"
#include "core/cuda/device/check.h"

namespace ptrain::cuda {

RecordedSequence::~RecordedSequence() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void RecordedSequence::run(const std::function<void()>& enqueue) {
  if (warmed_up_ && !steady()) record(enqueue);
  if (executable_ == nullptr) {
    enqueue();
    warmed_up_ = true;
    return;
  }
  CUDA_CHECK(cudaGraphLaunch(executable_, device_.stream()));
}

void RecordedSequence::record(const std::function<void()>& enqueue) {
  try {
    capture(enqueue);
  } catch (const Error& error) {
    gave_up_ = true;
    cudaGetLastError();  // clear the error for later calls
    device_.note(
        fmt::format("cuda_graphs: recording a step failed; its launches are made one by one: {}", error.what()));
  }
}

void RecordedSequence::capture(const std::function<void()>& enqueue) {
  // Thread local: allocations of other threads (loaders, other ranks) do not affect this capture.
  CUDA_CHECK(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(device_.stream(), &graph);  // ends the stream's capture
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  CUDA_CHECK(cudaStreamEndCapture(device_.stream(), &graph));
  const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  CUDA_CHECK(status);
}

}  // namespace ptrain::cuda
