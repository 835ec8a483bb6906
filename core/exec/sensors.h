// Sensor readings of a device while it works: power, clocks, temperature, throttling.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ptrain {

/// One reading of a device; values that it does not report are absent.
struct SensorSample {
  std::optional<double> watts;
  std::optional<double> joules;  // energy since an arbitrary start before the run
  std::optional<double> sm_mhz, memory_mhz;
  std::optional<double> celsius;
  std::uint64_t throttle_reasons = 0;  // bits of Sensors::throttle_reasons()
};

/// Health of a device's memory and links, and its limits; values that it does not report are absent.
struct DeviceCondition {
  std::optional<double> new_memory_errors, all_memory_errors;   // uncorrected: since the driver was loaded, and in
                                                                // total
  std::optional<double> rows_to_remap;                          // 1: rows of memory will be remapped at the next reset
  std::optional<double> failed_remaps;                          // 1: no spare row is left
  std::optional<double> pcie_generation, most_pcie_generation;  // current, and highest of device and machine
  std::optional<double> pcie_width, most_pcie_width;            // lanes
  std::optional<double> links, most_links;                      // to other devices: active, and built in
  std::optional<double> link_bandwidth;                         // bytes/s of each, in one direction
  std::optional<double> power_limit, default_power_limit;       // W
  std::optional<double> most_sm_mhz, most_memory_mhz;
};

class Sensors {
 public:
  using Reasons = std::vector<std::pair<std::string_view, std::uint64_t>>;

  virtual ~Sensors() = default;
  virtual SensorSample sample() const = 0;
  /// Links power down when idle: call this under load, or right after.
  virtual DeviceCondition condition() const { return {}; }
  /// Reasons for clocks below their maximum: name and bit. Idling and user-set clocks are not throttling and not
  /// included.
  virtual const Reasons& throttle_reasons() const = 0;
  /// The reason that full load itself causes.
  static constexpr std::string_view power_cap = "power_cap";
};

}  // namespace ptrain
