// Memory of what kernels derive from constant weights.
#pragma once

#include <cstddef>
#include <memory>

namespace ptrain::cpu {

/// `bytes` aligned to 64, not necessarily zero, on huge pages that they share with others. A few MiB return to the
/// system at once, with the last that lies in them. Throws OutOfMemory.
std::shared_ptr<std::byte> allocate_constant(std::size_t bytes);

}  // namespace ptrain::cpu
