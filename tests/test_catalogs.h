// What tests' configurations may name: what the program's may.
#pragma once

#include "core/config/catalogs.h"

namespace ptrain {

const Catalogs& test_catalogs();

}  // namespace ptrain
