// What a run of a benchmark is measured by: speed, memory, accuracy or the time to reach it.
#pragma once

#include "core/analysis/run_set.h"
#include "core/analysis/speed.h"
#include "core/report/metric.h"

#include <array>
#include <optional>
#include <string_view>

namespace ptrain {

/// `mean_throughput`, of histories only, counts the time of every step, stalls too.
enum class Response { throughput, memory, accuracy, time_to_accuracy, mean_throughput };
/// Those that effects are shown of, in the order of display.
inline constexpr std::array all_responses{Response::throughput, Response::memory, Response::accuracy,
                                          Response::time_to_accuracy};
/// "throughput", "memory", "accuracy", "time to accuracy", "mean throughput"
std::string_view to_string(Response response);

/// How a response is measured; for accuracy, by which metric.
struct ResponseMeasure {
  Response response = Response::throughput;
  SpeedEstimator estimator = SpeedEstimator::typical_step;
  std::optional<MetricInfo> metric = {};

  /// Whether values are those of a metric of at most 1 rather than logarithms.
  bool in_points() const { return response == Response::accuracy && metric && metric->is_bounded(); }
  /// Percent of a change of logarithms, points of a metric of at most 1.
  double to_display_unit(double change) const;
};

/// The value of a run with figures, as a logarithm unless in_points(); absent where the run has none.
std::optional<double> find_response_value(const MeasuredRun& run, const ResponseMeasure& measure);

}  // namespace ptrain
