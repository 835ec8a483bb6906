// Fuses residual and activation into the convolution or linear layer before them, at inference.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// Fuses linear -> activation and conv2d -> activation, where nothing else reads the value in between, and drops the
/// values that linear layers save for a gradient.
Graph fuse_epilogues(const Graph& graph);

}  // namespace ptrain
