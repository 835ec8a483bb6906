// Looks up metrics by the names in configuration keys.
#pragma once

#include "core/config/metric_names.h"
#include "core/report/metric.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The metric of that name, or the first for `primary_metric`. Throws Error{usage} naming `key` and the known metrics.
const MetricInfo& find_metric(const std::vector<MetricInfo>& metrics, const std::string& name, const std::string& key);

}  // namespace ptrain
