// The machine's physical memory, and how much of it a process may still take.
#pragma once

#include <cstdint>

namespace ptrain {

/// Bytes of physical memory; 0 when the system does not report it.
std::int64_t memory_bytes();
/// Bytes that can be allocated without swapping and within control groups' limits; physical memory where the kernel
/// does not report it.
std::int64_t available_memory_bytes();

}  // namespace ptrain
