#include "core/train/run/run_environment.h"

#include "core/base/parallel.h"

namespace ptrain {

nlohmann::json describe_devices(const std::vector<DeviceInfo>& devices) {
  nlohmann::json list = nlohmann::json::array();
  for (const DeviceInfo& device : devices) {
    list.push_back({{"name", device.name},
                    {"memory_bytes", device.memory_bytes},
                    {"compute_capability", device.compute_capability}});
  }
  return list;
}

EnvironmentReport capture_run_environment(const DeviceChoice& device, std::int64_t ranks, const Backend& backend,
                                          const std::optional<DeviceRates>& rates) {
  EnvironmentRequest request;
  request.threads = thread_count() * static_cast<int>(ranks);
  const std::string library = backend.library();
  const std::size_t space = library.rfind(' ');
  request.libraries[library.substr(0, space)] = library.substr(space + 1);
  BackendInfo info = backend.info();
  if (device.gpu) info.devices = {info.devices.at(static_cast<std::size_t>(*device.gpu))};
  request.libraries.insert(info.versions.begin(), info.versions.end());
  request.devices = describe_devices(info.devices);
  request.rates = rates;
  return capture_environment(request);
}

}  // namespace ptrain
