// The folder that a run writes into: what an earlier run measured there is not overwritten unasked.
#pragma once

#include "core/config/config.h"

#include <filesystem>

namespace ptrain {

enum class OutputUse { training, evaluation };

/// Where a run's report goes: output.report, or report.json in output.dir.
std::filesystem::path report_path(const Config& config);

/// Throws Error{usage} naming the keys that differ where an earlier run has measured something that this one would
/// overwrite: its report, metrics or checkpoints. A run that resumes from this folder, and one after an earlier run
/// that never came to a step, go on; `output.fresh` throws the earlier one's files away (an evaluation's: its report
/// alone).
void claim_output(const Config& config, OutputUse use);

}  // namespace ptrain
