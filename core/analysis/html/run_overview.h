// Pages of runs as they stand: the list of all, and a run without a report.
#pragma once

#include "core/analysis/run_list.h"

#include <string>
#include <vector>

namespace ptrain::html {

/// "16 runs: 1 in training, 12 finished, 1 killed, 2 failed."
std::string sum_up_runs(const std::vector<RunOverview>& runs);

/// A row for each run, those that train first, then the latest. Their folders are relative to the page's; empty: the
/// page's own.
std::string runs_section(std::vector<RunOverview> runs);

/// What the run trains, how far it has come, its curves and settings.
std::string progress_content(const RunOverview& run, const RunProgress& progress);

}  // namespace ptrain::html
