// How long OpenMP's threads spin where they wait, before they sleep.
#pragma once

namespace ptrain {

/// Restores the variable that GOMP_SPINCOUNT replaced while OpenMP was loaded. Call it first in main.
void restore_environment();

}  // namespace ptrain
