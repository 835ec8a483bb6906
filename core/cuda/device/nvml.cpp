#include "core/cuda/device/nvml.h"

#include "core/base/errors.h"

#include <dlfcn.h>

namespace ptrain {
namespace {

constexpr int graphics_temperature = 0;  // nvmlTemperatureSensors_t
constexpr int sm_clock = 1;              // nvmlClockType_t
constexpr int memory_clock = 2;

using Handle = void*;
using Result = int;  // 0: done

}  // namespace

struct Nvml::Functions {
  explicit Functions(const char* name) : library(dlopen(name, RTLD_NOW | RTLD_LOCAL), dlclose) {
    if (!library) fail("{}: cannot be loaded", name);
    find("nvmlInit_v2", init);
    find("nvmlShutdown", shutdown);
    find("nvmlDeviceGetHandleByPciBusId_v2", by_pci_bus_id);
    find("nvmlDeviceGetPowerUsage", power);
    find("nvmlDeviceGetTotalEnergyConsumption", energy);
    find("nvmlDeviceGetClockInfo", clock);
    find("nvmlDeviceGetTemperature", temperature);
    find("nvmlDeviceGetCurrentClocksThrottleReasons", throttling);
  }

  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library.get(), name));
    if (function == nullptr) fail("the NVIDIA management library has no {}", name);
  }

  std::unique_ptr<void, int (*)(void*)> library;
  Result (*init)();
  Result (*shutdown)();
  Result (*by_pci_bus_id)(const char*, Handle*);
  Result (*power)(Handle, unsigned*);             // mW
  Result (*energy)(Handle, unsigned long long*);  // mJ
  Result (*clock)(Handle, int, unsigned*);        // MHz
  Result (*temperature)(Handle, int, unsigned*);  // degrees Celsius
  Result (*throttling)(Handle, unsigned long long*);
};

Nvml::Nvml(const std::string& pci_bus_id, const char* library) : functions_(std::make_unique<Functions>(library)) {
  if (functions_->init() != 0) fail("{}: cannot be initialized", library);
  const Result found = functions_->by_pci_bus_id(pci_bus_id.c_str(), &device_);
  if (found != 0) {
    functions_->shutdown();
    fail("{}: knows no GPU {} (NVML error {})", library, pci_bus_id, found);
  }
}

Nvml::~Nvml() { functions_->shutdown(); }

SensorSample Nvml::sample() const {
  const auto read = [&](auto function, auto value, double unit, auto... which) -> std::optional<double> {
    if (function(device_, which..., &value) != 0) return std::nullopt;
    return static_cast<double>(value) * unit;
  };
  SensorSample sample;
  sample.watts = read(functions_->power, 0u, 1e-3);
  sample.joules = read(functions_->energy, 0ull, 1e-3);
  sample.sm_mhz = read(functions_->clock, 0u, 1.0, sm_clock);
  sample.memory_mhz = read(functions_->clock, 0u, 1.0, memory_clock);
  sample.celsius = read(functions_->temperature, 0u, 1.0, graphics_temperature);
  unsigned long long reasons = 0;
  if (functions_->throttling(device_, &reasons) == 0) sample.throttle_reasons = reasons;
  return sample;
}

const Sensors::Reasons& Nvml::throttle_reasons() const {
  static const Reasons reasons{
      {"power_cap", 0x4}, {"hardware_slowdown", 0x8}, {"sync_boost", 0x10},
      {"thermal", 0x20},  {"hardware_thermal", 0x40}, {"power_brake", 0x80},
  };
  return reasons;
}

}  // namespace ptrain
