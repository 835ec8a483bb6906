#include "core/analysis/speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {

std::string_view to_string(SpeedEstimator estimator) {
  constexpr std::array<std::string_view, 2> names = {"typical step", "samples over time"};
  return names.at(static_cast<std::size_t>(estimator));
}

std::string_view spelled_out(SpeedEstimator estimator) {
  return estimator == SpeedEstimator::typical_step ? "10th percentile of step times" : to_string(estimator);
}

SpeedEstimator speed_estimator(const std::vector<const MeasuredRun*>& runs) {
  const bool known =
      std::none_of(runs.begin(), runs.end(), [](const MeasuredRun* run) { return run->record.figures->summary; });
  return known ? SpeedEstimator::typical_step : SpeedEstimator::samples_over_time;
}

SpeedEstimator speed_estimator(std::span<const RunSet> sets) {
  std::vector<const MeasuredRun*> all;
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      const auto good = item.good();
      all.insert(all.end(), good.begin(), good.end());
    }
  }
  return speed_estimator(all);
}

double estimate_speed(const RunFigures& figures, SpeedEstimator estimator) {
  if (estimator == SpeedEstimator::samples_over_time) return figures.throughput;
  const double per_step = static_cast<double>(figures.samples) / static_cast<double>(figures.step_ms.count);
  return per_step / figures.typical_step_ms * 1e3;
}

Interval speed_interval(const std::vector<const RunFigures*>& runs, SpeedEstimator estimator) {
  std::vector<double> logs;
  for (const RunFigures* figures : runs) logs.push_back(std::log(estimate_speed(*figures, estimator)));
  const Interval of_logs = centre_interval(logs, interval_confidence);
  return {std::exp(of_logs.estimate), std::exp(of_logs.lower), std::exp(of_logs.upper), of_logs.bounded};
}

Interval speed_interval(const std::vector<const MeasuredRun*>& runs, SpeedEstimator estimator) {
  std::vector<const RunFigures*> figures;
  for (const MeasuredRun* run : runs) figures.push_back(&*run->record.figures);
  return speed_interval(figures, estimator);
}

Interval block_interval(std::span<const double> step_ms) {
  constexpr std::size_t blocks = 10;
  const std::size_t size = step_ms.size() / blocks;
  if (size < 2) return {};
  std::vector<double> means;
  for (std::size_t block = 0; block < blocks; ++block)
    means.push_back(summarize(step_ms.subspan(block * size, size)).mean);
  return centre_interval(means, interval_confidence);
}

std::string speed_text(const std::vector<const RunFigures*>& runs, SpeedEstimator estimator) {
  const Interval speed = speed_interval(runs, estimator);
  return fmt::format("{:.1f} {}{}", speed.estimate, runs.front()->unit, reach_text(speed));
}

std::string reach_text(const Interval& interval) {
  if (!interval.bounded) return {};
  const double percent = 100 * interval.half_width() / interval.estimate;
  return percent > 100 ? " ±>100 %" : fmt::format(" ±{:.1f} %", percent);  // of two or three runs that differ
}

}  // namespace ptrain
