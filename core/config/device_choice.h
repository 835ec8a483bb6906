// The value of `device`: a kind of device, or one GPU of several.
#pragma once

#include "core/base/enums.h"

#include <optional>
#include <string>
#include <string_view>

namespace ptrain {

enum class DeviceKind { automatic, cpu, cuda };
template <>
struct EnumNames<DeviceKind> {
  static constexpr std::array<std::string_view, 3> names{"auto", "cpu", "cuda"};
};

struct DeviceChoice {
  static constexpr std::string_view numbered_choice =
      EnumNames<DeviceKind>::names[static_cast<std::size_t>(DeviceKind::cuda)];  // a number may follow

  DeviceKind kind = DeviceKind::automatic;
  std::optional<int> gpu;  // index among the visible GPUs; none: the first, or the rank's own

  bool operator==(const DeviceChoice&) const = default;
};

/// Parses "auto", "cpu", "cuda" or "cuda:1" in any case; nothing for other texts.
std::optional<DeviceChoice> device_from_name(std::string_view name);
std::string to_string(const DeviceChoice& device);
/// Throws Error{usage} that names the option if `name` is no device.
DeviceChoice device_of_option(std::string_view option, std::string_view name);

}  // namespace ptrain
