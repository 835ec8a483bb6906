#include "cli/device.h"

#include "core/cpu/backend.h"
#include "core/cuda/backend.h"

namespace ptrain {

std::unique_ptr<Backend> make_backend(DeviceKind device) {
  const bool cuda =
      device == DeviceKind::cuda || (device == DeviceKind::automatic && cuda::unavailable_reason().empty());
  return cuda ? cuda::make_backend() : cpu::make_backend();
}

}  // namespace ptrain
