// Curves over the steps of runs, from their metrics and evaluations.
#pragma once

#include "core/analysis/html/case_groups.h"
#include "core/analysis/html/charts.h"
#include "core/analysis/html/figure.h"
#include "core/analysis/run_set.h"
#include "core/report/metric.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ptrain::html {

struct Curve {
  std::string name;  // of its figure
  std::string title;
  std::string unit;                                    // may be empty
  std::function<Series(const MeasuredRun& run)> read;  // empty where the run did not log it
};

/// A number of every logged step that has it, such as &StepLine::loss.
Series logged(const MeasuredRun& run, const std::function<std::optional<double>(const StepLine&)>& read);
/// Times of the steps after the warm-up.
std::vector<double> steady_steps(const MeasuredRun& run);

/// The primary metric that the group's cases are judged by; absent where none was evaluated.
std::optional<MetricInfo> find_metric(const CaseGroup& group);

/// What cases of a group are compared by: training loss and the primary metric.
std::vector<Curve> sweep_curves(const CaseGroup& group);

/// One curve of every case, of the run its report is from; small multiples by all but the axis that gives the colours.
Figure curve_figure(const CaseGroup& group, Figure figure, const Curve& curve);

}  // namespace ptrain::html
