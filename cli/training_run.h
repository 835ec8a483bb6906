// `ptrain run` from a resolved configuration to the report on disk.
#pragma once

#include "core/base/errors.h"
#include "core/config/load.h"
#include "core/report/progress.h"

#include <filesystem>

namespace ptrain {

/// Where a run's report goes: output.report, or report.json in output.dir.
std::filesystem::path report_path(const Config& config);

/// Trains, evaluates, writes report, metrics and weights. A run that fails leaves a report that says so and throws.
ExitCode run_training(const LoadedConfig& loaded, ProgressStyle style);

}  // namespace ptrain
