// The CUDA backend, for NVIDIA GPUs.
#pragma once

#include "core/exec/backend.h"

#include <string>

namespace ptrain::cuda {

/// Why `device: cuda` is unavailable here; empty when it is available.
std::string unavailable_reason();
/// The backend on one of the machine's GPUs, for the calling thread. Throws Error{failed} with unavailable_reason().
std::unique_ptr<Backend> make_backend(int device_index = 0);

/// cuDNN's JSON description of one of the machine's GPUs, from which an EngineCompiler elsewhere compiles for it.
/// Throws Error{failed} as make_backend() does.
std::string gpu_description(int device_index = 0);

/// The machine's GPUs, and the versions of CUDA runtime, NVIDIA driver, cuDNN, cuBLASLt and NCCL. Empty in builds
/// without CUDA; no GPUs where there is no driver.
BackendInfo cuda_info();

}  // namespace ptrain::cuda
