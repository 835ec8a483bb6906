// Figures of one run: its curves over the steps, and its ops under the machine's roofline.
#pragma once

#include "core/analysis/html/charts.h"
#include "core/analysis/html/figure.h"
#include "core/analysis/run_set.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain::html {

/// The run, where `sets` hold one alone and it left a report; else null.
const MeasuredRun* single_run(std::span<const RunSet> sets);

/// Loss, learning rate, loss scale, throughput, memory, accuracy, step times and roofline, as far as the run told them.
std::vector<Figure> run_figures(const MeasuredRun& run);

/// All nodes of one op together, over one step.
struct OpTime {
  std::string op;
  double milliseconds = 0, flops = 0, bytes = 0;
};
/// Slowest first; empty where the run did not time its ops (output.per_op).
std::vector<OpTime> op_times(const Report& report);

/// What the device was measured to do: the run's own peak, else the rate of its precision; none where neither is known.
std::optional<Roof> make_roofline(const Report& report);
/// Milliseconds that the roofline allows at least; none without bandwidth.
std::optional<double> least_milliseconds(const OpTime& op, const Roof& roof);

}  // namespace ptrain::html
