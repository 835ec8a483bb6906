// Distribution of the processor's cores among the ranks of one machine.
#pragma once

#include <cstddef>
#include <vector>

namespace ptrain {

/// Cores that this thread may run on, ascending.
std::vector<int> usable_cores();

/// Number of cores of the machine, usable or not.
std::size_t machine_cores();

/// Part `part` of `parts` of `cores`: contiguous, none empty; with fewer cores than parts, several parts share one.
std::vector<int> share_of_cores(const std::vector<int>& cores, int part, int parts);

/// Pins the calling thread, and threads that it starts later, to `cores`. Best effort.
void stay_on_cores(const std::vector<int>& cores);

}  // namespace ptrain
