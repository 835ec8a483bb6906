#include "cli/device.h"

#include "core/cpu/backend.h"

namespace ptrain {

std::unique_ptr<Backend> make_backend(DeviceKind device, int index) {
  const bool cuda =
      device == DeviceKind::cuda || (device == DeviceKind::automatic && cuda::unavailable_reason().empty());
  return cuda ? cuda::make_backend(index) : cpu::make_backend();
}

nlohmann::json describe_gpus(const cuda::CudaInfo& info) {
  nlohmann::json list = nlohmann::json::array();
  for (const cuda::GpuInfo& gpu : info.gpus) {
    list.push_back(
        {{"name", gpu.name}, {"memory_bytes", gpu.memory_bytes}, {"compute_capability", gpu.compute_capability}});
  }
  return list;
}

}  // namespace ptrain
