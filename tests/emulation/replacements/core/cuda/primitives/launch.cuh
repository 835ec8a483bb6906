// core/cuda/primitives/launch.cuh for the host, which comes first among the folders of includes.
#pragma once

#include "core/cuda/device/device.h"
#include "tests/emulation/block_fibers.h"

#include <type_traits>

namespace ptrain::cuda {

/// Arguments are copied now, whenever it runs.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, const Device& device,
            std::type_identity_t<Parameters>... arguments) {
  emulation::enqueue_kernel(grid, block, device.stream(), [=] { kernel(arguments...); });
}

}  // namespace ptrain::cuda
