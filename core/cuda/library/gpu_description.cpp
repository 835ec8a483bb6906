#include "core/cuda/library/gpu_description.h"

#include "core/base/errors.h"

#include <nlohmann/json.hpp>

namespace ptrain::cuda {
namespace {

/// Identity, speed and size of the GPU, and its driver, which rejects code that it cannot load. All other properties
/// count, also those that later versions of cuDNN add: limits, multiprocessors and the L2 cache decide what is
/// launched.
constexpr const char* left_out[] = {"cudaDeviceId",   "pciDeviceId",     "deviceName",     "driverVer",
                                    "smClockRateKHz", "memClockRateKHz", "totalGlobalMem", "isTccDriver"};

}  // namespace

GpuDescription parse_gpu_description(const std::string& json) {
  nlohmann::json properties = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* name) {
    const auto found = properties.find(name);
    if (found == properties.end() || !found->is_number_integer()) {
      fail("expected cuDNN's description of a GPU in JSON (ptrain doctor --describe-gpu): there is no number {}", name);
    }
    return found->get<int>();
  };
  GpuDescription gpu;
  gpu.json = json;
  gpu.compute_capability = number("deviceVer") / 10;
  gpu.multiprocessors = number("multiProcessorCount");
  const auto name = properties.find("deviceName");
  gpu.name = name != properties.end() && name->is_string() ? name->get<std::string>() : "a GPU without a name";
  for (const char* property : left_out) properties.erase(property);
  gpu.code_properties = properties.dump();
  return gpu;
}

}  // namespace ptrain::cuda
