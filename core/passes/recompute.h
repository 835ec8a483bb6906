// Activation checkpointing: values that backward reads are computed again there instead of being kept since the forward
// pass (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
#pragma once

#include "core/base/enums.h"
#include "core/passes/autodiff.h"

namespace ptrain {

/// The same gradients, bit for bit. A node belongs to the block that its name begins with, up to the first part that is
/// or ends in a number ("model.layers.3", "layer1.0", "encoder_layer_3"). Values that only their block and its gradient
/// read are dropped after the forward pass and computed again from what is kept, just before backward reads them
/// (Pass::recompute):
/// - block: all values within blocks. What is kept are the blocks' inputs and what other blocks read.
/// - selective: those of ops with little arithmetic for an element, and of activations that linear layers fuse.
/// Ops that change state are not repeated, but for batch norms, which leave the running statistics as they are then.
/// Dropout draws the same mask again: it depends on the step's random state and the node's stream.
Differentiated recompute(const Differentiated& differentiated, Recompute what);

}  // namespace ptrain
