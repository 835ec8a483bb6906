// What stands for metrics' names in the configuration.
#pragma once

#include <string_view>

namespace ptrain {

/// What stands for the name of the task's primary metric.
inline constexpr std::string_view primary_metric = "primary";
/// What stands for no metric at all.
inline constexpr std::string_view no_metric = "none";

}  // namespace ptrain
