#include "core/analysis/response.h"

#include "core/analysis/quality.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

std::string_view to_string(Response response) {
  switch (response) {
    case Response::throughput:
      return "throughput";
    case Response::mean_throughput:
      return "mean throughput";
    case Response::memory:
      return "memory";
    case Response::time_to_accuracy:
      return "time to accuracy";
    case Response::accuracy:
      break;
  }
  return "accuracy";
}

double ResponseMeasure::to_display_unit(double change) const {
  return 100 * (in_points() ? change : std::expm1(change));
}

std::optional<double> find_response_value(const MeasuredRun& run, const ResponseMeasure& measure) {
  const RunFigures& figures = *run.record.figures;
  switch (measure.response) {
    case Response::throughput:
      return std::log(estimate_speed(figures, measure.estimator));
    case Response::mean_throughput:
      return std::log(figures.throughput);
    case Response::memory:
      return std::log(static_cast<double>(std::max<std::int64_t>(1, figures.memory_bytes)));
    case Response::time_to_accuracy:
      return figures.time_to_accuracy ? std::optional(std::log(*figures.time_to_accuracy)) : std::nullopt;
    case Response::accuracy:
      break;
  }
  const MetricValue* primary = find_primary_metric(run);
  if (primary == nullptr || primary->name != measure.metric->name) return std::nullopt;
  return measure.in_points() ? *primary->value : std::log(std::max(*primary->value, 1e-9));
}

}  // namespace ptrain
