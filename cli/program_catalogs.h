// What configurations may name in this program.
#pragma once

#include "core/config/catalogs.h"

namespace ptrain {

/// Its models, data sources and metrics.
const Catalogs& catalogs();

}  // namespace ptrain
