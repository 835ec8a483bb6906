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
  std::string name;  // file name of its figure
  std::string title;
  std::string unit;                                    // or name of its values, for the axis
  std::function<Series(const MeasuredRun& run)> read;  // empty where the run did not log it
};

/// A figure with one panel, over the steps, and a legend where there are several series; empty series are left out, and
/// without any the figure has no panel.
Figure draw_curves(const std::string& name, const std::string& title, const std::string& unit,
                   std::vector<Series> series);

/// A value of every logged step that has it, such as &StepLine::loss.
Series logged(const MeasuredRun& run, const std::function<std::optional<double>(const StepLine&)>& read);
/// Times of the steps after the warm-up.
std::vector<double> steady_steps(const MeasuredRun& run);

/// The primary metric of the group's cases; absent where none was evaluated.
std::optional<MetricInfo> find_metric(const CaseGroup& group);

/// The curves that compare cases of a group: training loss, memory and the primary metric.
std::vector<Curve> sweep_curves(const CaseGroup& group);

/// A curve per case: the mean over its seeds with a band of one standard deviation, or that of the run whose report it
/// uses; small multiples by all axes but the one for colours.
Figure curve_figure(const CaseGroup& group, Figure figure, const Curve& curve);

}  // namespace ptrain::html
