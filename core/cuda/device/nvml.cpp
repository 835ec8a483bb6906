#include "core/cuda/device/nvml.h"

#include "core/base/errors.h"

#include <dlfcn.h>

namespace ptrain {
namespace {

constexpr int graphics_temperature = 0;  // nvmlTemperatureSensors_t
constexpr int sm_clock = 1;              // nvmlClockType_t
constexpr int memory_clock = 2;
constexpr int uncorrected = 1;        // nvmlMemoryErrorType_t
constexpr int since_driver_load = 0;  // nvmlEccCounterType_t
constexpr int since_ever = 1;
constexpr unsigned most_links = 18;         // NVML_NVLINK_MAX_LINKS
constexpr unsigned common_link_speed = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: MB/s of active links
constexpr int unsigned_value = 1;           // nvmlValueType_t

using Handle = void*;
using Result = int;  // 0: success

/// nvmlFieldValue_t
struct FieldValue {
  unsigned field = 0, scope = 0;
  long long timestamp = 0, latency = 0;
  int type = 0;
  Result result = 0;
  union {
    double real;
    unsigned number;
  } value = {};
};

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

/// Functions that some drivers lack; null where they do.
struct Nvml::OptionalFunctions {
  explicit OptionalFunctions(void* library) : library_(library) {
    find("nvmlDeviceGetTotalEccErrors", ecc_errors);
    find("nvmlDeviceGetRemappedRows", remapped_rows);
    find("nvmlDeviceGetCurrPcieLinkGeneration", pcie_generation);
    find("nvmlDeviceGetMaxPcieLinkGeneration", most_pcie_generation);
    find("nvmlDeviceGetCurrPcieLinkWidth", pcie_width);
    find("nvmlDeviceGetMaxPcieLinkWidth", most_pcie_width);
    find("nvmlDeviceGetNvLinkState", link_state);
    find("nvmlDeviceGetFieldValues", field_values);
    find("nvmlDeviceGetEnforcedPowerLimit", power_limit);
    find("nvmlDeviceGetPowerManagementDefaultLimit", default_power_limit);
    find("nvmlDeviceGetMaxClockInfo", most_clock);
  }

  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
  }

  using Number = Result (*)(Handle, unsigned*);
  Result (*ecc_errors)(Handle, int, int, unsigned long long*);
  Result (*remapped_rows)(Handle, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed);
  Number pcie_generation, most_pcie_generation, pcie_width, most_pcie_width;
  Result (*link_state)(Handle, unsigned link, int* active);
  Result (*field_values)(Handle, int count, FieldValue*);
  Number power_limit, default_power_limit;  // mW
  Result (*most_clock)(Handle, int, unsigned*);

 private:
  void* library_;
};

Nvml::Nvml(const std::string& pci_bus_id, const char* library)
    : functions_(std::make_unique<Functions>(library)),
      optional_(std::make_unique<OptionalFunctions>(functions_->library.get())) {
  if (functions_->init() != 0) fail("{}: cannot be initialized", library);
  const Result found = functions_->by_pci_bus_id(pci_bus_id.c_str(), &device_);
  if (found != 0) {
    functions_->shutdown();
    fail("{}: found no GPU {} (NVML error {})", library, pci_bus_id, found);
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

DeviceCondition Nvml::condition() const {
  const auto read = [&](auto function, auto value, double unit, auto... which) -> std::optional<double> {
    if (function == nullptr || function(device_, which..., &value) != 0) return std::nullopt;
    return static_cast<double>(value) * unit;
  };
  const OptionalFunctions& ask = *optional_;
  DeviceCondition condition;
  condition.new_memory_errors = read(ask.ecc_errors, 0ull, 1, uncorrected, since_driver_load);
  condition.all_memory_errors = read(ask.ecc_errors, 0ull, 1, uncorrected, since_ever);
  unsigned corrected = 0, replaced = 0, pending = 0, failed = 0;
  if (ask.remapped_rows != nullptr && ask.remapped_rows(device_, &corrected, &replaced, &pending, &failed) == 0) {
    condition.rows_to_remap = pending;
    condition.failed_remaps = failed;
  }
  condition.pcie_generation = read(ask.pcie_generation, 0u, 1);
  condition.most_pcie_generation = read(ask.most_pcie_generation, 0u, 1);
  condition.pcie_width = read(ask.pcie_width, 0u, 1);
  condition.most_pcie_width = read(ask.most_pcie_width, 0u, 1);
  for (unsigned link = 0; link < most_links; ++link) {
    const std::optional<double> active = read(ask.link_state, 0, 1, link);
    if (!active) continue;
    condition.links = condition.links.value_or(0) + *active;
    condition.most_links = condition.most_links.value_or(0) + 1;
  }
  FieldValue speed{common_link_speed};
  if (ask.field_values != nullptr && ask.field_values(device_, 1, &speed) == 0 && speed.result == 0 &&
      speed.type == unsigned_value && speed.value.number > 0) {
    condition.link_bandwidth = 1e6 * speed.value.number;
  }
  condition.power_limit = read(ask.power_limit, 0u, 1e-3);
  condition.default_power_limit = read(ask.default_power_limit, 0u, 1e-3);
  condition.most_sm_mhz = read(ask.most_clock, 0u, 1, sm_clock);
  condition.most_memory_mhz = read(ask.most_clock, 0u, 1, memory_clock);
  return condition;
}

const Sensors::Reasons& Nvml::throttle_reasons() const {
  static const Reasons reasons{
      {power_cap, 0x4},  {"hardware_slowdown", 0x8}, {"sync_boost", 0x10},
      {"thermal", 0x20}, {"hardware_thermal", 0x40}, {"power_brake", 0x80},
  };
  return reasons;
}

}  // namespace ptrain
