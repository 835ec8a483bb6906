// Curves over the steps of runs, from their metrics and evaluations.
#pragma once

#include "core/analysis/html/case_groups.h"
#include "core/analysis/html/charts.h"
#include "core/analysis/html/figure.h"
#include "core/analysis/run_set.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ptrain::html {

struct Curve {
  const char* name;  // of its figure
  const char* title;
  const char* unit;                        // may be empty
  Series (*read)(const MeasuredRun& run);  // empty where the run did not log it
};

/// A number of every logged step that has it, such as &StepLine::loss.
Series logged(const MeasuredRun& run, const std::function<std::optional<double>(const StepLine&)>& read);
/// Times of the steps after the warm-up.
std::vector<double> steady_steps(const MeasuredRun& run);

/// What cases of a sweep are compared by: training loss and top-1.
const std::vector<Curve>& sweep_curves();

/// One curve of every case, of the run its report is from; small multiples by all but the axis that gives the colours.
Figure curve_figure(const CaseGroup& group, Figure figure, const Curve& curve);

}  // namespace ptrain::html
