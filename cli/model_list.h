// Lists the models that can be trained.
#pragma once

#include "cli/output_format.h"

namespace ptrain {

/// Prints every model: its names, the data it reads, parameters and arithmetic of forward and backward at the default
/// configuration size, the library whose weight names it uses, and published accuracy. Nothing is allocated or run.
void list_models(const FormatOptions& format);

}  // namespace ptrain
