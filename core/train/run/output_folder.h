// The folder that a run writes to; an earlier run's measurements are not overwritten without permission.
#pragma once

#include "core/config/config.h"
#include "core/train/phases.h"

#include <filesystem>

namespace ptrain {

/// The path of a run's report: output.report, or report.json in output.dir.
std::filesystem::path report_path(const OutputConfig& output);

/// Throws Error{usage} naming the keys that differ if this run would overwrite an earlier one's report, metrics or
/// checkpoints. A run that resumes from this folder is allowed, and so is one after a run that completed no step;
/// `output.fresh` deletes the earlier one's files (for an evaluation: only its report). Files that no earlier run left
/// there, and the weights that this one starts from, are never replaced.
void claim_output(const Config& config, OutputUse use);

}  // namespace ptrain
