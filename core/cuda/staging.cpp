#include "core/cuda/staging.h"

#include "core/cuda/check.h"

#include <algorithm>
#include <cstring>

namespace ptrain::cuda {

Staging::Staging(Device& device) : device_(device) {
  for (Block& block : blocks_) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMallocHost(&memory, block_bytes));
    block.memory = static_cast<std::byte*>(memory);
    CUDA_CHECK(cudaEventCreateWithFlags(&block.done, cudaEventDisableTiming));
  }
}

Staging::~Staging() {
  for (const Block& block : blocks_) {
    if (block.done != nullptr) cudaEventDestroy(block.done);
    cudaFreeHost(block.memory);
  }
}

Staging::Block& Staging::next_free() {
  Block& block = blocks_[next_];
  next_ = (next_ + 1) % blocks_.size();
  CUDA_CHECK(cudaEventSynchronize(block.done));  // at once for a block never used
  return block;
}

void Staging::to_device(void* device, const void* host, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
    const std::size_t part = std::min(block_bytes, bytes - offset);
    Block& block = next_free();
    std::memcpy(block.memory, static_cast<const std::byte*>(host) + offset, part);
    CUDA_CHECK(cudaMemcpyAsync(static_cast<std::byte*>(device) + offset, block.memory, part, cudaMemcpyHostToDevice,
                               device_.stream()));
    CUDA_CHECK(cudaEventRecord(block.done, device_.stream()));
  }
}

void Staging::to_host(void* host, const void* device, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
    const std::size_t part = std::min(block_bytes, bytes - offset);
    Block& block = next_free();
    CUDA_CHECK(cudaMemcpyAsync(block.memory, static_cast<const std::byte*>(device) + offset, part,
                               cudaMemcpyDeviceToHost, device_.stream()));
    CUDA_CHECK(cudaEventRecord(block.done, device_.stream()));
    CUDA_CHECK(cudaEventSynchronize(block.done));
    std::memcpy(static_cast<std::byte*>(host) + offset, block.memory, part);
  }
}

}  // namespace ptrain::cuda
