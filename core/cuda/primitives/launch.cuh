// The only place that launches kernels.
#pragma once

#include "core/cuda/device/check.h"
#include "core/cuda/device/device.h"

#include <type_traits>

namespace ptrain::cuda {

/// Enqueues `kernel` in the device's stream. Arguments convert to its parameters; template arguments must be explicit.
/// Throws Error{failed} when CUDA rejects the launch. tests/emulation has a version that runs on the host.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, const Device& device,
            const std::type_identity_t<Parameters>&... arguments) {
  kernel<<<grid, block, 0, device.stream()>>>(arguments...);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace ptrain::cuda
