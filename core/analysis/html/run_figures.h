// Figures of one run: its curves over the steps, and its ops under the roofline of the device.
#pragma once

#include "core/analysis/html/charts.h"
#include "core/analysis/html/figure.h"
#include "core/analysis/live/run_progress.h"
#include "core/analysis/run_set.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain::html {

/// The run, if `sets` hold exactly one and it left a report; else null.
const MeasuredRun* single_run(std::span<const RunSet> sets);

/// Loss, primary metric, throughput, learning rate and memory of a run without a report, as far as they were logged;
/// `unit` of the throughput.
std::vector<Figure> progress_figures(const RunProgress& progress, const std::string& unit);

/// Loss, learning rate, loss scale, throughput, memory, accuracy, step times, roofline and graph, as far as they were
/// logged.
std::vector<Figure> run_figures(const MeasuredRun& run);

}  // namespace ptrain::html
