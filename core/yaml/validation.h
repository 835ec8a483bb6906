// Checks across keys, and notes on keys that are set but not read.
#pragma once

#include "core/config/catalogs.h"
#include "core/config/loaded_config.h"

namespace ptrain {

/// Throws Error{usage} where values contradict each other; adds a note to `loaded.notes` for what has no effect.
void check_across(LoadedConfig& loaded, const Catalogs& catalogs);

}  // namespace ptrain
