// Decides by timing whether fused kernels are faster than separate ones.
#pragma once

#include "core/exec/backend.h"
#include "core/passes/fuse_convolutions.h"

namespace ptrain {

/// Seconds that kernels of `nodes` take on scratch memory, one after the other; empty when `backend` lacks one of the
/// kernels or the memory.
std::optional<double> time_nodes(Backend& backend, std::span<const NodeProblem> nodes, const KernelOptions& options);

/// Fuses where fused kernels are clearly faster. Results are kept in the backend's search cache and not measured again.
/// The backend outlives the policy.
FusionPolicy fuse_where_faster(Backend& backend, const KernelOptions& options);

}  // namespace ptrain
