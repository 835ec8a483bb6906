// The names that configurations may use in this program.
#pragma once

#include "core/config/catalogs.h"

namespace ptrain {

/// The program's models, data sources, tasks and metrics.
const Catalogs& catalogs();

}  // namespace ptrain
