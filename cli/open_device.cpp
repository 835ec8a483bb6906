#include "cli/open_device.h"

#include "core/cpu/cpu_backend.h"

namespace ptrain {

std::unique_ptr<Backend> make_backend(const DeviceChoice& device, int local_rank) {
  const bool cuda =
      device.kind == DeviceKind::cuda || (device.kind == DeviceKind::automatic && cuda::unavailable_reason().empty());
  return cuda ? cuda::make_backend(device.gpu.value_or(local_rank)) : cpu::make_backend();
}

Software installed_software() {
  Software software{cuda::cuda_info().versions};
  const std::string library = cpu::make_backend()->library();
  const std::size_t space = library.rfind(' ');
  software.versions[library.substr(0, space)] = library.substr(space + 1);
  return software;
}

}  // namespace ptrain
