// Whether fused kernels are faster than separate ones, found by running both.
#pragma once

#include "core/exec/backend.h"
#include "core/passes/fuse_convolutions.h"

namespace ptrain {

/// Seconds that kernels of `nodes` take on scratch memory, one after the other; empty when `backend` has none for one
/// of them, or not the memory.
std::optional<double> time_nodes(Backend& backend, std::span<const NodeProblem> nodes, const KernelOptions& options);

/// Fuses what is clearly faster fused. What was found is kept in the backend's search cache, and not measured again.
/// The backend outlives it.
FusionPolicy fuse_where_faster(Backend& backend, const KernelOptions& options);

}  // namespace ptrain
