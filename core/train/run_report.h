// Converts a run's measurements to its report.
#pragma once

#include "core/config/config.h"
#include "core/exec/kernel_library.h"
#include "core/model/model.h"
#include "core/report/report.h"
#include "core/train/run_result.h"

namespace ptrain {

/// Fills in what `result` has; valid at any moment of a run, also after a failure.
void fill_report(Report& report, const Config& config, const KernelLibrary& kernels, const Model& model,
                 const RunResult& result);

/// The kernels' reports, in graph order.
std::vector<KernelReport> kernel_reports(std::span<const NodeProfile> profile);

}  // namespace ptrain
