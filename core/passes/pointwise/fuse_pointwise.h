// Fuses chains of pointwise ops into one op, so that intermediate results are not stored.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// The same gradients with chains of unary and binary ops, and of their gradients, as pointwise_chain. A result is
/// fused where all its readers are in the chain and have its shape and phase. In fp32 the values are identical bit for
/// bit; in low precision intermediate results are not rounded.
Differentiated fuse_pointwise(const Differentiated& differentiated);
/// The same for a graph without gradients.
Graph fuse_pointwise(const Graph& graph);

}  // namespace ptrain
