// A run from a resolved configuration to the report on disk; what `ptrain run` and `ptrain eval` share.
#pragma once

#include "cli/output_folder.h"
#include "cli/view/telling.h"
#include "core/train/trainer.h"
#include "core/yaml/load.h"

#include <filesystem>
#include <functional>

namespace ptrain {

/// On every rank opens device, data and model, prepares a trainer and hands it to `work`; writes the report, also when
/// something failed, and prints a summary and where it is. Throws what failed; Error{diverged} or the signal's exit
/// code when the run ended that way.
void run_with_report(const LoadedConfig& loaded, const Telling& telling, OutputUse use,
                     const std::function<void(Trainer&)>& work);

}  // namespace ptrain
