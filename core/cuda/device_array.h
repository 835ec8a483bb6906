// A table that a kernel needs beside its tensors: written once, when the kernel is made.
#pragma once

#include "core/cuda/check.h"

#include <span>
#include <utility>

namespace ptrain::cuda {

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::span<const T> values) {
    if (values.empty()) return;
    CUDA_CHECK(cudaMalloc(&data_, values.size_bytes()));
    if (const cudaError_t status = cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice);
        status != cudaSuccess) {
      cudaFree(data_);
      cuda_failed(status, "copy of a kernel's table");
    }
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  const T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace ptrain::cuda
