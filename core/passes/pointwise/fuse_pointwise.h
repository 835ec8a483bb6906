// Joins functions of elements that follow each other into one op, so that what is between them is not stored.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// The same gradients with chains of unary and binary ops, and of their gradients, as pointwise_chain: where all that
/// reads a result is another of them, of its shape and phase. In fp32 the values stay the same, bit for bit; in low
/// precision what is between is not rounded.
Differentiated fuse_pointwise(const Differentiated& differentiated);
/// The same of a graph without gradients.
Graph fuse_pointwise(const Graph& graph);

}  // namespace ptrain
