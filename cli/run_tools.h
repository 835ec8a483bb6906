// What a run needs from the commands that train or evaluate.
#pragma once

#include "cli/view/console_options.h"
#include "core/train/run/run_view.h"

namespace ptrain {

/// This program's devices, models and console; `console` must outlive the run.
RunTools make_run_tools(const ConsoleOptions& console);

}  // namespace ptrain
