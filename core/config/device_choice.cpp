#include "core/config/device_choice.h"

#include "core/base/errors.h"
#include "core/config/text.h"

#include <fmt/ranges.h>

#include <charconv>

namespace ptrain {

std::optional<DeviceChoice> device_from_name(std::string_view name) {
  const std::string word = lower_case(name);
  if (const auto kind = choice_from_name<DeviceKind>(word)) return DeviceChoice{*kind, {}};
  if (!word.starts_with(fmt::format("{}:", DeviceChoice::numbered_choice))) return std::nullopt;
  constexpr int most = 1023;
  const char *begin = word.data() + DeviceChoice::numbered_choice.size() + 1, *end = word.data() + word.size();
  int gpu = 0;
  const auto [rest, error] = std::from_chars(begin, end, gpu);
  if (error != std::errc{} || rest != end || *begin == '-' || gpu > most) return std::nullopt;
  return DeviceChoice{DeviceKind::cuda, gpu};
}

std::string to_string(const DeviceChoice& device) {
  const std::string kind(enum_name(device.kind));
  return device.gpu ? fmt::format("{}:{}", kind, *device.gpu) : kind;
}

DeviceChoice device_of_option(std::string_view option, std::string_view name) {
  if (const auto device = device_from_name(name)) return *device;
  fail_usage("{}: expected {}|{}:N, got \"{}\"", option, fmt::join(EnumNames<DeviceKind>::names, "|"),
             DeviceChoice::numbered_choice, name);
}

}  // namespace ptrain
