// The processor's cores, shared out among the ranks of one machine.
#pragma once

#include <cstddef>
#include <vector>

namespace ptrain {

/// Cores that this thread may run on, ascending.
std::vector<int> usable_cores();

/// Cores of the machine, whoever may use them.
std::size_t machine_cores();

/// Part `part` of `parts` of `cores`: contiguous, none empty; with fewer cores than parts, several parts share one.
std::vector<int> share_of_cores(const std::vector<int>& cores, int part, int parts);

/// Keeps the calling thread, and the threads that it starts from now on, to `cores`. Best effort.
void stay_on_cores(const std::vector<int>& cores);

}  // namespace ptrain
