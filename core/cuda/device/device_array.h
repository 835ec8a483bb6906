// Device memory that a kernel keeps in addition to its tensors, written when the kernel is made: a table, a state.
#pragma once

#include "core/cuda/device/check.h"

#include <span>
#include <utility>

namespace ptrain::cuda {

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::span<const T> values) {
    if (values.empty()) return;
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, values.size_bytes()));
    data_ = static_cast<T*>(memory);
    cudaError_t status = cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice);
    // The copy from pageable memory may return early, and a Device's stream does not wait for this one.
    if (status == cudaSuccess) status = cudaStreamSynchronize(nullptr);
    if (status != cudaSuccess) {
      cudaFree(data_);
      cuda_failed(status, "copy of a kernel's table");
    }
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace ptrain::cuda
