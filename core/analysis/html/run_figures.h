// Figures of one run: its curves over the steps, and its ops under the roofline of the device.
#pragma once

#include "core/analysis/html/charts.h"
#include "core/analysis/html/figure.h"
#include "core/analysis/run_set.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain::html {

/// The run, if `sets` hold exactly one and it left a report; else null.
const MeasuredRun* single_run(std::span<const RunSet> sets);

/// Loss, learning rate, loss scale, throughput, memory, accuracy, step times and roofline, as far as they were logged.
std::vector<Figure> run_figures(const MeasuredRun& run);

/// All nodes of one op type, over one step.
struct OpTime {
  std::string op;
  double milliseconds = 0, flops = 0, bytes = 0;
};
/// Slowest first; empty if the run did not time its ops (output.per_op).
std::vector<OpTime> op_times(const Report& report);

/// The device's measured rates: the run's own peak, else the rate of its precision; none where neither is known.
std::optional<Roof> make_roofline(const Report& report);
/// Milliseconds that the op needs at the roofline; none without bandwidth.
std::optional<double> least_milliseconds(const OpTime& op, const Roof& roof);

}  // namespace ptrain::html
