// What the configuration asks about metrics: the names that a task has. They stand above, with the tasks; a program
// hands over who knows them before it reads its first configuration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// What stands for the name of the task's primary metric.
inline constexpr std::string_view primary_metric = "primary";
/// What stands for no metric at all.
inline constexpr std::string_view no_metric = "none";

/// The names of a task's metrics; `classes` 0: not known yet.
using FindMetricNames = std::vector<std::string> (*)(std::string_view task, std::int64_t classes);

/// From now on keys that name a metric take the names that `find` gives.
void use_metric_names(FindMetricNames find);
/// Empty where none were handed over: then any name will do.
std::vector<std::string> known_metric_names(std::string_view task, std::int64_t classes);

}  // namespace ptrain
