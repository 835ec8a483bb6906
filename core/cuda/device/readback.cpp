#include "core/cuda/device/readback.h"

#include "core/cuda/device/check.h"

namespace ptrain::cuda {

PinnedReadback::PinnedReadback(const Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
  device_.make_current();
  void* memory = nullptr;
  CUDA_CHECK(cudaMallocHost(&memory, bytes));
  pinned_ = static_cast<std::byte*>(memory);
  CUDA_CHECK(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming));
}

PinnedReadback::~PinnedReadback() {
  cudaEventDestroy(arrived_);
  cudaFreeHost(pinned_);
}

void PinnedReadback::start(const void* source) {
  CUDA_CHECK(cudaMemcpyAsync(pinned_, source, bytes_, cudaMemcpyDeviceToHost, device_.stream()));
  CUDA_CHECK(cudaEventRecord(arrived_, device_.stream()));
}

std::span<const std::byte> PinnedReadback::finish() {
  CUDA_CHECK(cudaEventSynchronize(arrived_));
  return {pinned_, bytes_};
}

}  // namespace ptrain::cuda
