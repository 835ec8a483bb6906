#include "core/tasks/find_metric.h"

#include "core/base/errors.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ptrain {

const MetricInfo& find_metric(const std::vector<MetricInfo>& metrics, const std::string& name, const std::string& key) {
  if (name == primary_metric && !metrics.empty()) return metrics.front();
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const MetricInfo& m) { return m.name == name; });
  if (found == metrics.end()) {
    fail_usage("{}: expected one of {}, {}, got \"{}\"", key, primary_metric, fmt::join(metric_names(metrics), ", "),
               name);
  }
  return *found;
}

}  // namespace ptrain
