// A run's measurements as its report.
#pragma once

#include "core/config/config.h"
#include "core/exec/kernel_library.h"
#include "core/model/model.h"
#include "core/report/report.h"
#include "core/train/run_result.h"

namespace ptrain {

/// Fills in what `result` knows; valid at any moment of a run, also after it failed.
void fill_report(Report& report, const Config& config, const KernelLibrary& kernels, const Model& model,
                 const RunResult& result);

/// As reports have them, in the order of the graph.
std::vector<KernelReport> kernel_reports(std::span<const NodeProfile> profile);

}  // namespace ptrain
