// Takes what follows a convolution or a linear layer at inference into it: residual and activation.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// Joins linear -> activation and conv2d -> activation, where nothing else reads what is between, and drops what linear
/// layers save for a gradient.
Graph fuse_epilogues(const Graph& graph);

}  // namespace ptrain
