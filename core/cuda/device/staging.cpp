#include "core/cuda/device/staging.h"

#include "core/cuda/device/check.h"

#include <algorithm>
#include <cstring>

namespace ptrain::cuda {

Staging::Staging(const Device& device) : device_(device) {
  CUDA_CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
}

Staging::~Staging() {
  for (const Block& block : blocks_) {
    cudaEventDestroy(block.done);
    cudaEventDestroy(block.arrived);
    cudaFree(block.device);
    cudaFreeHost(block.pinned);
  }
  cudaStreamDestroy(copies_);
}

Staging::Block Staging::make_block() {
  device_.make_current();
  Block block;
  void* memory = nullptr;
  CUDA_CHECK(cudaMallocHost(&memory, block_bytes));
  block.pinned = static_cast<std::byte*>(memory);
  CUDA_CHECK(cudaMalloc(&memory, block_bytes));
  block.device = static_cast<std::byte*>(memory);
  CUDA_CHECK(cudaEventCreateWithFlags(&block.arrived, cudaEventDisableTiming));
  CUDA_CHECK(cudaEventCreateWithFlags(&block.done, cudaEventDisableTiming));
  return block;
}

Staging::Block& Staging::next_free() {
  const auto oldest_is_busy = [&] {
    if (cudaEventQuery(blocks_.front().done) != cudaErrorNotReady) return false;
    cudaGetLastError();  // clear the status, which the next launch would report as its error
    return true;
  };
  if (blocks_.empty() || (blocks_.size() < most_blocks && oldest_is_busy())) {
    blocks_.push_back(make_block());
  } else {
    CUDA_CHECK(cudaEventSynchronize(blocks_.front().done));
    std::rotate(blocks_.begin(), blocks_.begin() + 1, blocks_.end());
  }
  return blocks_.back();
}

void Staging::to_device(void* device, const void* host, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
    const std::size_t part = std::min(block_bytes, bytes - offset);
    Block& block = next_free();
    std::memcpy(block.pinned, static_cast<const std::byte*>(host) + offset, part);
    CUDA_CHECK(cudaMemcpyAsync(block.device, block.pinned, part, cudaMemcpyHostToDevice, copies_));
    CUDA_CHECK(cudaEventRecord(block.arrived, copies_));
    CUDA_CHECK(cudaStreamWaitEvent(device_.stream(), block.arrived, 0));
    CUDA_CHECK(cudaMemcpyAsync(static_cast<std::byte*>(device) + offset, block.device, part, cudaMemcpyDeviceToDevice,
                               device_.stream()));
    CUDA_CHECK(cudaEventRecord(block.done, device_.stream()));
  }
}

void Staging::to_host(void* host, const void* device, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
    const std::size_t part = std::min(block_bytes, bytes - offset);
    Block& block = next_free();
    CUDA_CHECK(cudaMemcpyAsync(block.pinned, static_cast<const std::byte*>(device) + offset, part,
                               cudaMemcpyDeviceToHost, device_.stream()));
    CUDA_CHECK(cudaEventRecord(block.done, device_.stream()));
    CUDA_CHECK(cudaEventSynchronize(block.done));
    std::memcpy(static_cast<std::byte*>(host) + offset, block.pinned, part);
  }
}

}  // namespace ptrain::cuda
