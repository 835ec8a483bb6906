// NVIDIA GPUs as a backend.
#pragma once

#include "core/exec/backend.h"

#include <map>
#include <string>
#include <vector>

namespace ptrain::cuda {

/// Why `device: cuda` cannot be used here; empty when it can.
std::string unavailable_reason();
/// The backend on one of the machine's GPUs, for the calling thread. Throws Error{failed} with unavailable_reason().
std::unique_ptr<Backend> make_backend(int device_index = 0);

/// What `ptrain doctor` and reports say of the GPUs.
struct GpuInfo {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"
};
struct CudaInfo {
  std::vector<GpuInfo> gpus;
  std::map<std::string, std::string> versions;  // CUDA runtime, NVIDIA driver, cuDNN, cuBLASLt, NCCL
};
/// Empty in builds without CUDA; no GPUs where there is no driver.
CudaInfo cuda_info();

}  // namespace ptrain::cuda
