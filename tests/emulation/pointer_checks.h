// Checks of the pointers that libraries are called with: a GPU would read wrong memory or fault.
#pragma once

#include <cstddef>

namespace emulation {

/// Ends the program with a line unless [memory, memory + bytes) is in one allocation of device memory and begins at a
/// multiple of `alignment`. `what` names the argument.
void require_device_memory(const char* what, const void* memory, std::size_t bytes, std::size_t alignment);

}  // namespace emulation
