// Finds keys that the chosen model, data source, optimizer and so on do not read. They are noted, not rejected, so that
// `-o data.source=synthetic` works with any configuration.
#pragma once

#include "core/config/catalogs.h"
#include "core/config/loaded_config.h"

namespace ptrain {

/// Adds a note for every key that is set but not read.
void add_unused_key_notes(LoadedConfig& loaded, const Catalogs& catalogs);

}  // namespace ptrain
