#include "core/cuda/device/gpu_memory.h"

#include "core/base/errors.h"
#include "core/cuda/device/check.h"
#include "core/cuda/device/readback.h"

#include <algorithm>

namespace ptrain::cuda {

void* GpuMemory::allocate(std::size_t bytes) {
  device_.make_current();
  void* memory = nullptr;
  if (const cudaError_t status = cudaMalloc(&memory, bytes); status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory(fmt::format("out of memory: cannot allocate {} MiB on {}, which has {} MiB left", bytes >> 20,
                                  device_.properties().name, available() >> 20));
  } else {
    CUDA_CHECK(status);
  }
  CUDA_CHECK(cudaMemsetAsync(memory, 0, bytes, device_.stream()));
  usage_.resident_bytes += static_cast<std::int64_t>(bytes);
  usage_.peak_resident_bytes = std::max(usage_.peak_resident_bytes, usage_.resident_bytes);
  return memory;
}

void GpuMemory::release(void* memory, std::size_t bytes) {
  cudaFree(memory);
  usage_.resident_bytes -= static_cast<std::int64_t>(bytes);
}

std::size_t GpuMemory::available() const {
  device_.make_current();
  std::size_t left = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&left, &total));
  return left;
}

std::unique_ptr<Readback> GpuMemory::make_readback(std::size_t bytes) {
  return std::make_unique<PinnedReadback>(device_, bytes);
}

}  // namespace ptrain::cuda
