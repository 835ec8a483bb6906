// The models that can be trained, with what each takes.
#pragma once

#include "cli/output_format.h"

namespace ptrain {

/// Prints every model: its names, the data it reads, parameters and arithmetic of forward and backward at the size that
/// configurations default to, whose names its weights bear, and published accuracy. Nothing is allocated or run.
void list_models(const FormatOptions& format);

}  // namespace ptrain
