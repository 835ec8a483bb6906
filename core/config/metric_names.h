// Values of the configuration that replace a metric's name.
#pragma once

#include <string_view>

namespace ptrain {

/// The task's primary metric.
inline constexpr std::string_view primary_metric = "primary";
/// No metric.
inline constexpr std::string_view no_metric = "none";

}  // namespace ptrain
