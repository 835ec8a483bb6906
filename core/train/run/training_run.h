// Runs training or evaluation from a resolved configuration to the report on disk.
#pragma once

#include "core/config/loaded_config.h"
#include "core/train/run/output_folder.h"
#include "core/train/run/run_view.h"
#include "core/train/trainer.h"

#include <functional>

namespace ptrain {

/// On every rank opens device, data and model, prepares a trainer and passes it to `work`; writes metrics.jsonl and the
/// report, also after a failure. Throws the failure; Error{diverged} or the signal's exit code when the run ended that
/// way.
void run_with_report(const LoadedConfig& loaded, const RunTools& tools, OutputUse use,
                     const std::function<void(Trainer&)>& work);

}  // namespace ptrain
