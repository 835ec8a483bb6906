// How long OpenMP's threads spin where they wait, before they sleep.
#pragma once

namespace ptrain {

/// Gives the environment back the variable in whose place OpenMP found its spin count. Call it first in main.
void restore_environment();

}  // namespace ptrain
