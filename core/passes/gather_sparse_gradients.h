// Data parallelism for tables with sparse gradients: every rank gathers the ids and gradients of all ranks' samples, in
// the order of the ranks, and updates its copy of the table alike.
#pragma once

#include "core/passes/autodiff.h"
#include "core/passes/grad_allreduce.h"

namespace ptrain {

namespace flat {
inline constexpr const char* gathered = "flat.grad.of_ranks.";  // prefix of the buffers of all ranks
}  // namespace flat

/// Sparse gradients of all ranks' samples instead of this rank's, computed at the end of backward. The exchanges start
/// as soon as backward has what they send.
Differentiated gather_sparse_gradients(const Differentiated& differentiated, const DistributionOptions& options);

}  // namespace ptrain
