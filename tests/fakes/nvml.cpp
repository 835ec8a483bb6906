// NVIDIA's management library for tests: one GPU, 0000:3b:00.0, at 400.5 W under its power cap, that uses two joules
// between any two looks and does not know its temperature. FAKE_NVML changes what it says of its condition, as in
// "new_errors=2,pcie_width=4"; a value of -1 is one that it does not tell.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int not_supported = 3;

/// What FAKE_NVML says of `name`, else `fallback`.
long setting(const char* name, long fallback) {
  const char* const given = std::getenv("FAKE_NVML");
  const std::string settings = fmt::format(",{}", given == nullptr ? "" : given);
  const std::string key = fmt::format(",{}=", name);
  const std::size_t at = settings.find(key);
  return at == std::string::npos ? fallback : std::atol(settings.c_str() + at + key.size());
}

template <typename Number>
int tell(const char* name, long fallback, Number* value) {
  const long number = setting(name, fallback);
  if (number < 0) return not_supported;
  *value = static_cast<Number>(number);
  return 0;
}

/// nvmlFieldValue_t
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  unsigned long long value;
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return std::strcmp(id, "0000:3b:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 400500;
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  static unsigned long long used = 1000000;
  *millijoules = used += 2000;
  return 0;
}

int nvmlDeviceGetClockInfo(void*, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1701 : 2602;
  return 0;
}

int nvmlDeviceGetTemperature(void*, int, unsigned*) { return 3; }

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  return tell("throttling", 0x4 | 0x1, reasons);
}

int nvmlSystemGetDriverVersion(char* text, unsigned) { return std::strcpy(text, "580.95.05"), 0; }

int nvmlDeviceGetTotalEccErrors(void*, int, int counter, unsigned long long* errors) {
  return counter == 0 ? tell("new_errors", 0, errors) : tell("all_errors", 0, errors);
}

int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = 0;
  tell("remap_failed", 0, failed);
  return tell("remap_pending", 0, pending);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) { return tell("pcie_generation", 5, value); }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) { return *value = 5, 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) { return tell("pcie_width", 16, value); }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) { return *value = 16, 0; }

int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  *active = static_cast<long>(link) < setting("links", 18) ? 1 : 0;
  return setting("links", 18) < 0 ? not_supported : 0;
}

int nvmlDeviceGetFieldValues(void*, int, FieldValue* value) {
  value->type = 1;
  return value->result = tell("link_speed", 26562, &value->value);
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return tell("power_limit", 700000, milliwatts); }
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* milliwatts) { return *milliwatts = 700000, 0; }

int nvmlDeviceGetMaxClockInfo(void*, int clock, unsigned* mhz) {
  return clock == 1 ? tell("most_sm_mhz", 1980, mhz) : tell("most_memory_mhz", 2602, mhz);
}

}  // extern "C"
