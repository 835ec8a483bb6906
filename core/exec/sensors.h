// What a device says of itself while it works: power, clocks, temperature, throttling.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ptrain {

/// One look at a device; what it does not tell is absent.
struct SensorSample {
  std::optional<double> watts;
  std::optional<double> joules;  // used since some moment before the run
  std::optional<double> sm_mhz, memory_mhz;
  std::optional<double> celsius;
  std::uint64_t throttle_reasons = 0;  // bits of Sensors::throttle_reasons()
};

/// What a device says of its memory, links and limits; what it does not tell is absent.
struct DeviceCondition {
  std::optional<double> new_memory_errors, all_memory_errors;   // uncorrected: since the driver was loaded, and ever
  std::optional<double> rows_to_remap;                          // 1: rows of memory wait for a reset to be replaced
  std::optional<double> failed_remaps;                          // 1: no row is left to replace one with
  std::optional<double> pcie_generation, most_pcie_generation;  // now, and what device and machine can at most
  std::optional<double> pcie_width, most_pcie_width;            // lanes
  std::optional<double> links, most_links;                      // to other devices: connected, and built in
  std::optional<double> link_bandwidth;                         // bytes/s of each, in one direction
  std::optional<double> power_limit, default_power_limit;       // W
  std::optional<double> most_sm_mhz, most_memory_mhz;
};

class Sensors {
 public:
  using Reasons = std::vector<std::pair<std::string_view, std::uint64_t>>;

  virtual ~Sensors() = default;
  virtual SensorSample sample() const = 0;
  /// Links rest while the device does: to be asked while it works, or right after.
  virtual DeviceCondition condition() const { return {}; }
  /// Why clocks can be below their highest: name and bit. Idleness and chosen clocks are no throttling and not among
  /// them.
  virtual const Reasons& throttle_reasons() const = 0;
  /// The one among them that full load itself brings.
  static constexpr std::string_view power_cap = "power_cap";
};

}  // namespace ptrain
