// Which keys the chosen model, data source, optimizer and so on do not read: noted, not refused, so that
// `-o data.source=synthetic` works on any configuration.
#pragma once

#include "core/config/catalogs.h"
#include "core/config/loaded_config.h"

namespace ptrain {

/// Adds one note for every key that was set and is not read.
void note_unread(LoadedConfig& loaded, const Catalogs& catalogs);

}  // namespace ptrain
