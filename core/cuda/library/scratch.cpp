#include "core/cuda/library/scratch.h"

#include "core/base/errors.h"
#include "core/cuda/device/check.h"
#include "core/exec/kernel_timing.h"

#include <algorithm>

namespace ptrain::cuda {
ScratchMemory::ScratchMemory(const Device& device, std::size_t bytes, DType dtype) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMalloc(&memory_, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clear the error for later calls
    throw OutOfMemory(fmt::format("out of memory while searching kernels: cannot allocate {} MiB", bytes >> 20));
  }
  CUDA_CHECK(status);
  const std::vector<std::byte> values = benchmark_values(dtype);
  const auto copy = [&](std::size_t at, const void* from, std::size_t size, cudaMemcpyKind kind) {
    CUDA_CHECK(cudaMemcpyAsync(static_cast<std::byte*>(memory_) + at, from, size, kind, device.stream()));
  };
  copy(0, values.data(), std::min(values.size(), bytes), cudaMemcpyHostToDevice);
  for (std::size_t done = values.size(); done < bytes; done *= 2) {
    copy(done, memory_, std::min(done, bytes - done), cudaMemcpyDeviceToDevice);
  }
  CUDA_CHECK(cudaStreamSynchronize(device.stream()));  // before `values` is freed
}

ScratchMemory::~ScratchMemory() { cudaFree(memory_); }

}  // namespace ptrain::cuda
