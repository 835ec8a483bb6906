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

class Sensors {
 public:
  using Reasons = std::vector<std::pair<std::string_view, std::uint64_t>>;

  virtual ~Sensors() = default;
  virtual SensorSample sample() const = 0;
  /// Why clocks can be below their highest: name and bit. Idleness and chosen clocks are no throttling and not among
  /// them.
  virtual const Reasons& throttle_reasons() const = 0;
};

}  // namespace ptrain
