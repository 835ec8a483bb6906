// Figures of many runs: effects of flags, and measurements of every case.
#pragma once

#include "core/analysis/html/figure.h"
#include "core/analysis/run_set.h"

#include <span>
#include <vector>

namespace ptrain::html {

/// Effects of every sweep; then, for each group of cases (case_groups.h), throughput, step time, memory, accuracy, time
/// to it, utilization, energy, curves of loss, accuracy and memory, and time by op, as far as they were measured.
std::vector<Figure> sweep_figures(std::span<const RunSet> sets);

}  // namespace ptrain::html
